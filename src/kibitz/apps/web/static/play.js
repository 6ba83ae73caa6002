// Play: against the engine, at any strength, with clocks, odds, take back, hints; then the review.

import { html } from "./board.js";
import { ask, connection } from "./connection.js";
import { saveGame } from "./games.js";
import { NewGame } from "./newgame.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { keep, kept } from "./store.js";
import { MoveList, Tree, numberOf, turnOf } from "./tree.js";
import { button, confirmed, guarded, save, scoreText, toast } from "./widgets.js";

const LOW = 20_000; // milliseconds from which a clock warns
const STORE = "kibitz-game";
const EVEN = 0.04, QUIET_MOVES = 6; // the engine offers a draw after so many of its moves at such values
const OPENING = 10, LONG = 30; // moves: before the first the engine agrees to no draw, from the second on to an even one

const clockText = (ms) => {
  const left = Math.max(0, ms), seconds = Math.ceil(left / 1000);
  return left < LOW ? `${Math.floor(left / 1000)}.${Math.floor((left % 1000) / 100)}` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

export class Play {
  constructor(views) {
    this.views = views;
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci, san) => this.#person(uci, san) });
    this.moves = new MoveList(this.tree);
    this.players = { w: this.#player(), b: this.#player() };
    this.status = html("p", { class: "outcome", "aria-live": "polite" });
    this.warning = html("div", { class: "words", role: "alert", hidden: true });
    this.top = html("div");
    this.bottom = html("div");
    this.buttons = this.#buttons();
    this.form = new NewGame((wanted) => this.begin(wanted)).element;
    const left = html("section", { class: "left", "aria-label": "Board" }, this.top, html("div", { class: "board-and-bar" }, this.board.element), this.bottom, html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, flipButton(this.board, () => this.#seats()))));
    this.panel = html("section", { class: "panel", hidden: true }, this.status, this.warning, this.moves.element, this.buttons);
    this.element = html("div", { class: "desk play" }, left, html("section", { class: "right" }, this.panel, this.form));
    this.tree.addEventListener("go", () => this.#show());
    setInterval(() => this.#tick(), 100);
    connection.addEventListener("state", () => this.#follow());
    this.restored = guarded(() => this.#restore());
  }

  #player() {
    const name = html("b"), clock = html("span", { class: "clock", hidden: true });
    return { name, clock, element: html("div", { class: "player" }, name, clock) };
  }

  #buttons() {
    const made = {
      back: button("Take back", () => this.#takeBack()), hint: button("Hint", () => this.#hint()), draw: button("Draw", () => this.#offer(), { title: "Offer a draw, or claim one" }), resign: button("Resign", () => this.#resign()),
      review: button("Review", () => this.#analyse(true), { class: "accent" }), analyse: button("Analyse", () => this.#analyse(false)), pgn: button("Save PGN", () => guarded(async () => save("game.pgn", await this.tree.pgn()))), again: button("New game", () => this.#again(), { class: "apart" }),
    };
    this.made = made;
    return html("div", { class: "row" }, ...Object.values(made));
  }

  keys = { f: () => (this.board.flip(), this.#seats()), ArrowLeft: () => this.over && this.tree.back(), ArrowRight: () => this.over && this.tree.next() };

  shown() {
    this.#show();
  }

  // --- a game ----------------------------------------------------------------------------------

  async begin(wanted) {
    const { fen, chess960, settings, side } = wanted;
    Object.assign(this, { settings, side });
    this.tree.reset(fen, { chess960, tags: this.#tags() });
    this.clocks = settings.base ? { w: settings.base, b: settings.base } : null;
    this.over = this.outcome = "";
    this.tree.changed();
    await this.#started();
  }

  #tags() {
    const engine = `Kibitz${this.settings.elo ? ` (${this.settings.elo})` : ""}`;
    const now = new Date();
    const date = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((one) => String(one).padStart(2, "0")).join(".");
    return { Event: "Casual game", Date: date, White: this.side === "w" ? "You" : engine, Black: this.side === "b" ? "You" : engine, Result: "*" };
  }

  /** Show a game that begins, or goes on after a reload; its clocks stand until the engine is ready. */
  async #started() {
    this.asked = this.since = this.thought = this.judged = null;
    this.warning.hidden = true;
    this.quiet = 0; // moves at which the engine thought the game even
    this.ready = !this.clocks || Boolean(this.over);
    this.panel.hidden = false;
    this.form.hidden = true;
    this.board.flipped = this.side === "b";
    this.#keep();
    this.#seats();
    this.#show();
    if (this.over) return this.#say(this.outcome);
    const game = this.tree.root;
    if (!this.ready) await guarded(() => ask("ready", { wanted: this.#wanted() }));
    if (this.tree.root !== game || this.over) return undefined;
    this.ready = true;
    this.#run();
    return this.#next();
  }

  /** Milliseconds since the clock of the side to move was started; none while it stands. */
  get #spent() {
    return this.since === null ? 0 : performance.now() - this.since;
  }

  #run() {
    this.since = connection.state === "open" ? performance.now() : null;
  }

  /** Clocks stand while the server cannot be reached. */
  #follow() {
    if (!this.clocks || !this.ready || this.over || !this.side) return;
    this.clocks[this.#turn] -= this.#spent;
    this.#run();
  }

  #seats() {
    const [low, high] = this.board.flipped ? ["b", "w"] : ["w", "b"];
    this.bottom.replaceChildren(this.players[low].element);
    this.top.replaceChildren(this.players[high].element);
    for (const side of "wb") {
      this.players[side].name.textContent = this.side ? this.tree.tags[side === "w" ? "White" : "Black"] ?? "" : "";
      this.players[side].clock.hidden = !this.clocks;
    }
  }

  get #turn() {
    return turnOf(this.tree.at.fen);
  }

  /** Whose turn it is: the person moves, or the engine is asked. */
  async #next() {
    if (this.over || !this.side) return;
    const node = this.tree.at;
    const info = await guarded(() => this.tree.info());
    if (!info || this.tree.at !== node) return;
    this.#show();
    if (info.over) return this.#end(info.over.result, info.over.reason);
    if (this.#turn !== this.side) return this.settings.coach && node.parent && this.judged !== node ? this.#judge(node) : this.#engine(node);
    if (this.settings.ponder && !this.settings.elo && node.parent) guarded(() => ask("ponder", { place: this.tree.place(), wanted: this.#wanted() }));
    return undefined;
  }

  /** The coach looks at the person's move before the reply; a mistake may be taken back. Clocks stand meanwhile. */
  async #judge(node) {
    const stays = () => this.tree.at === node && !this.over;
    this.since = null;
    this.#say("The coach looks at your move …");
    const text = await guarded(() => ask("mistake", { place: this.tree.place(node) }));
    if (!stays()) return undefined;
    const goOn = () => {
      this.warning.hidden = true;
      this.judged = node;
      if (!stays()) return undefined;
      this.#run();
      return this.#engine(node);
    };
    if (!text) return goOn();
    this.#say(`${node.san} is a mistake.`);
    this.warning.hidden = false;
    this.warning.replaceChildren(html("p", {}, text), html("div", { class: "row" }, button("Take it back", () => this.#takeBack(), { class: "accent" }), button("Play it all the same", goOn)));
    return undefined;
  }

  #wanted() {
    return { network: this.settings.network, search: "auto", elo: this.settings.elo, mistakes: this.settings.mistakes ?? null, lines: 1 };
  }

  async #engine(node) {
    const { movetime, increment } = this.settings, clocks = this.clocks;
    const left = (side) => Math.max(1, Math.round(clocks[side] - (side === this.#turn ? this.#spent : 0)));
    const limits = clocks ? { wtime: left("w"), btime: left("b"), winc: increment, binc: increment } : { movetime };
    const token = (this.asked = {});
    this.#say("The engine is thinking …");
    const found = await guarded(() => ask("think", { place: this.tree.place(), wanted: this.#wanted(), ...limits }));
    if (this.asked !== token || this.over || this.tree.at !== node) return;
    if (!found) return this.#say("The engine could not move; take back, or begin a new game.");
    this.thought = this.side === "w" ? -found.line.value : found.line.value;
    await this.#make(found.move, found.san);
    this.#offers();
  }

  /** The engine offers a draw where a long game has been even for a while. */
  #offers() {
    const even = Math.abs(this.thought) < EVEN && numberOf(this.tree.at.fen) >= LONG;
    this.quiet = even ? this.quiet + 1 : 0;
    const node = this.tree.at, agree = () => this.tree.at === node && !this.over && this.#end("1/2-1/2", "draw agreed");
    if (this.quiet && this.quiet % QUIET_MOVES === 0 && !this.over) toast("The engine offers a draw.", "note", ["Accept", agree]);
  }

  async #person(uci, san) {
    if (this.over || !this.ready || this.#turn !== this.side) return;
    await this.#make(uci, san);
  }

  async #make(uci, san) {
    if (this.making) return undefined; // one move at a time, however fast they come
    const side = this.#turn;
    if (this.clocks) {
      this.clocks[side] -= this.#spent;
      if (this.clocks[side] <= 0) return this.#flag(side);
      this.clocks[side] += this.settings.increment;
    }
    this.#run();
    this.making = true;
    const made = await guarded(() => this.tree.play(uci, san));
    this.making = false;
    if (made) {
      saveGame(this.tree);
      this.#keep();
      await this.#next();
    }
  }

  #tick() {
    if (!this.clocks || this.over || !this.side) return;
    const running = this.#turn;
    for (const side of "wb") {
      const left = this.clocks[side] - (side === running ? this.#spent : 0);
      const { clock } = this.players[side];
      clock.textContent = clockText(left);
      clock.classList.toggle("runs", side === running && this.since !== null);
      clock.classList.toggle("low", left < LOW);
      if (left <= 0) return this.#flag(side);
    }
  }

  #flag(side) {
    this.clocks[side] = 0;
    this.#end(side === "w" ? "0-1" : "1-0", `${side === "w" ? "White" : "Black"} lost on time`);
  }

  // --- what the buttons do ---------------------------------------------------------------------

  #takeBack() {
    if (this.over || this.making) return;
    this.asked = null;
    const steps = this.#turn === this.side ? 2 : 1;
    const path = this.tree.path();
    if (path.length < steps) return toast("There is no move of yours to take back.", "note");
    const gone = path[path.length - steps];
    this.thought = null;
    this.warning.hidden = true;
    this.tree.go(gone.parent);
    this.tree.remove(gone);
    this.#run();
    this.#keep();
    this.#next();
  }

  async #hint() {
    if (this.over || this.#turn !== this.side) return;
    const node = this.tree.at;
    const found = await guarded(() => ask("hint", { place: this.tree.place(), network: this.settings.network }));
    if (!found || this.tree.at !== node) return;
    this.board.arrows = [["B", found.move.slice(0, 2), found.move.slice(2, 4)]];
    this.#say(`Perhaps ${found.san} (${scoreText(found.line)}): ${found.line.sans.slice(0, 5).join(" ")}`);
  }

  /** A draw that can be claimed needs no consent; any other the engine takes or declines. */
  async #offer() {
    const node = this.tree.at, info = await guarded(() => this.tree.info());
    if (!info || this.over || this.tree.at !== node) return;
    if (info.claim) this.#end("1/2-1/2", info.claim);
    else if (this.#agrees()) this.#end("1/2-1/2", "draw agreed");
    else toast("The engine declines the draw.", "note");
  }

  /** By what the engine thought of its last move: it takes a draw if it is worse, or if a long game is even. */
  #agrees() {
    const number = numberOf(this.tree.at.fen);
    if (this.thought === null || number < OPENING) return false;
    return this.thought < -0.1 || (number >= LONG && this.thought < 0.05);
  }

  async #resign() {
    const game = this.tree.root;
    if (!(await confirmed("Resign the game?", "The engine wins it.", "Resign", "Play on"))) return;
    if (!this.over && this.tree.root === game) this.#end(this.side === "w" ? "0-1" : "1-0", "you resigned");
  }

  #end(result, reason) {
    this.over = result;
    this.warning.hidden = true;
    this.asked = null;
    this.tree.tags.Result = result;
    saveGame(this.tree);
    this.outcome = `${result.replace("1/2-1/2", "½–½")}, ${reason}`;
    this.#say(this.outcome);
    this.moves.draw();
    this.#show();
    this.#keep();
  }

  async #again() {
    const sure = this.over || (await confirmed("Break this game off?", "It can still be saved and analysed, but not played on.", "Break it off", "Play on"));
    if (!sure) return;
    if (!this.over) this.#end("*", "broken off");
    this.form.hidden = false;
    this.form.scrollIntoView({ block: "nearest" });
  }

  /** Open the game in Analyse, and have it reviewed there. */
  async #analyse(review) {
    const read = await guarded(async () => ask("read", { text: await this.tree.pgn() }));
    if (read) this.views.analyse({ ...read.game, saved: this.tree.saved }, review);
  }

  // --- what is shown ---------------------------------------------------------------------------

  #say(text) {
    this.status.textContent = text;
  }

  #show() {
    const node = this.tree.at, info = node.info;
    const mine = this.side && !this.over;
    const free = mine && this.ready ? this.side : "";
    this.board.arrows = [];
    this.board.show({ fen: node.fen, last: node.uci, moves: info?.moves ?? [], check: info?.check ?? "", free, ahead: mine && this.ready ? this.side : "" }, { slide: true, say: node.san });
    if (mine && !this.ready) this.#say("The engine is getting ready; the clocks wait for it.");
    else if (mine && this.#turn !== this.side) this.#say("The engine is thinking …");
    else if (mine) this.#say(info ? "Your move" : ""); // a click counts once the legal moves are there
    const { back, hint, draw, resign, review, analyse, pgn } = this.made;
    for (const one of [back, hint, draw, resign]) one.hidden = Boolean(this.over);
    for (const one of [review, analyse, pgn]) one.hidden = !this.over || !this.tree.root.children.length;
    if (!this.side) this.#say("");
  }

  #keep() {
    const { side, settings, clocks, over, outcome } = this;
    const room = keep(STORE, { game: this.tree.kept(), side, settings, clocks, over, outcome });
    if (!room && this.over) toast("The browser has no room left to keep this game: save it as PGN.");
  }

  /** Go on with the game that a reload has interrupted, or show the one that had ended. */
  async #restore() {
    const before = await kept(STORE);
    if (!before) return;
    const { game, ...others } = before;
    Object.assign(this, others);
    this.tree.load(game);
    this.#started(); // a view is there before its engine is ready
  }
}
