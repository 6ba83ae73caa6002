// Play: against the engine, at any strength, with clocks, odds, take back, hints; then the review.

import { html } from "./board.js";
import { ask, connection } from "./connection.js";
import { saveGame } from "./games.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { keep, kept } from "./store.js";
import { MoveList, START, Tree, numberOf, turnOf } from "./tree.js";
import { button, choice, confirmed, field, guarded, save, scoreText, toast } from "./widgets.js";

const ODDS = [["", "nothing"], ["p", "a pawn (f)"], ["n", "a knight"], ["b", "a bishop"], ["r", "a rook"], ["q", "the queen"]];
const TIMES = [["1", "1 second a move"], ["3", "3 seconds a move"], ["10", "10 seconds a move"], ["60+0", "1 minute"], ["180+2", "3 minutes + 2 s"], ["300+3", "5 minutes + 3 s"], ["900+10", "15 minutes + 10 s"]];
const STARTS = [["standard", "Standard"], ["960", "Chess960, any of them"], ["fen", "A FEN"]];
const LOW = 20_000; // milliseconds from which a clock warns
const FULL = 3100; // the end of the strength slider
const STORE = "kibitz-game";
const OPENING = 10, LONG = 30; // moves: before the first the engine agrees to no draw, from the second on to an even one

/** A start in which one side gives a piece: the f-pawn, or the first of its kind from the a-file; "" without one. */
function withOdds(fen, kind, side) {
  const [placement, turn, castling, ...rest] = fen.split(" ");
  const rows = placement.split("/").map((row) => row.replace(/\d/g, (empty) => ".".repeat(Number(empty))));
  const at = (side === "w" ? 7 : 0) + (kind === "p" ? (side === "w" ? -1 : 1) : 0);
  const letter = side === "w" ? kind.toUpperCase() : kind;
  const file = kind === "p" ? (rows[at][5] === letter ? 5 : -1) : rows[at].indexOf(letter);
  if (file < 0) return "";
  rows[at] = `${rows[at].slice(0, file)}.${rows[at].slice(file + 1)}`;
  const lost = kind === "r" ? ["q", "abcdefgh"[file]].map((one) => (side === "w" ? one.toUpperCase() : one)) : [];
  const rights = [...castling].filter((one) => !lost.includes(one)).join("") || "-";
  return [rows.map((row) => row.replace(/\.+/g, (empty) => empty.length)).join("/"), turn, rights, ...rest].join(" ");
}

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
    this.top = html("div");
    this.bottom = html("div");
    this.buttons = this.#buttons();
    this.form = this.#form();
    const left = html("section", { class: "left", "aria-label": "Board" }, this.top, html("div", { class: "board-and-bar" }, this.board.element), this.bottom, html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, flipButton(this.board, () => this.#seats()))));
    this.panel = html("section", { class: "panel", hidden: true }, this.status, this.moves.element, this.buttons);
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

  #form() {
    this.fields = {
      side: choice("You play", [["w", "White"], ["b", "Black"], ["", "either"]], "w"),
      time: choice("Time", TIMES, "3"),
      odds: choice("The engine gives", ODDS, ""),
      start: choice("Start", STARTS, "standard", (value) => (this.fen.element.hidden = value !== "fen")),
      network: choice("Network", [["", "default"]], ""),
    };
    this.fen = field("FEN to start from", { type: "text", placeholder: START });
    this.fen.element.hidden = true;
    this.fen.element.classList.add("wide-field");
    const label = html("output", {}, "1500");
    this.strength = html("input", { type: "range", min: 500, max: FULL, step: 100, value: 1500, "aria-label": "Strength" });
    const shown = () => {
      const elo = Number(this.strength.value), human = elo >= 1100 && elo <= 1900;
      label.textContent = elo >= FULL ? "full strength" : human ? `${elo}, as people play` : `${elo}`;
    };
    this.strength.addEventListener("input", shown);
    shown();
    const strength = html("label", { class: "field wide-field" }, html("span", {}, "Strength: ", label), this.strength);
    this.ponder = field("It thinks on your time", { type: "checkbox" });
    const { network, start: from, ...first } = this.fields;
    const more = html("details", { class: "wide-field" }, html("summary", {}, "More choices"), html("div", { class: "form" }, ...[from, this.fen, network, this.ponder].map((one) => one.element)));
    const play = button("Play", () => this.begin(), { class: "accent", id: "start-game" });
    ask("hello").then(({ networks }) => this.fields.network.select.append(...networks.map((name) => html("option", { value: name }, name))), () => {});
    return html("section", { class: "panel", "aria-label": "A new game" }, html("h2", {}, "A new game"), html("div", { class: "form" }, strength, ...Object.values(first).map((one) => one.element), more), html("div", { class: "row" }, play));
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

  async begin() {
    const { side, time, odds, start, network } = this.fields;
    const mine = side.value || "wb"[Math.floor(2 * Math.random())];
    const gives = mine === "w" ? "b" : "w";
    let fen = START, chess960 = false;
    if (start.value === "960") [fen, chess960] = [await guarded(() => ask("start960", { number: Math.floor(960 * Math.random()) })), true];
    else if (start.value === "fen") fen = this.fen.input.value.trim() || START;
    if (fen && odds.value && !(fen = withOdds(fen, odds.value, gives))) return toast("The engine cannot give that: it has no such piece on its first rows there. Choose other odds, or another start.");
    if (!fen || !(await guarded(() => ask("position", { place: { fen, chess960 } })))) return;
    const elo = Number(this.strength.value);
    const [base, increment] = time.value.split("+").map(Number);
    const timed = increment !== undefined;
    this.settings = { elo: elo >= FULL ? null : elo, movetime: timed ? null : 1000 * base, base: timed ? 1000 * base : null, increment: 1000 * (increment ?? 0), network: network.value, ponder: this.ponder.input.checked };
    this.side = mine;
    this.tree.reset(fen, { chess960, tags: this.#tags() });
    this.clocks = timed ? { w: 1000 * base, b: 1000 * base } : null;
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
    this.asked = this.since = this.thought = null;
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
    if (this.#turn !== this.side) return this.#engine(node);
    if (this.settings.ponder && !this.settings.elo && node.parent) guarded(() => ask("ponder", { place: this.tree.place(), wanted: this.#wanted() }));
    return undefined;
  }

  #wanted() {
    return { network: this.settings.network, search: "auto", elo: this.settings.elo, lines: 1 };
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
  }

  async #person(uci, san) {
    if (this.over || !this.ready || this.#turn !== this.side) return;
    await this.#make(uci, san);
  }

  async #make(uci, san) {
    const side = this.#turn;
    if (this.clocks) {
      this.clocks[side] -= this.#spent;
      if (this.clocks[side] <= 0) return this.#flag(side);
      this.clocks[side] += this.settings.increment;
    }
    this.#run();
    if (await guarded(() => this.tree.play(uci, san))) {
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
    if (this.over) return;
    this.asked = null;
    const steps = this.#turn === this.side ? 2 : 1;
    const path = this.tree.path();
    if (path.length < steps) return toast("There is no move of yours to take back.", "note");
    const gone = path[path.length - steps];
    this.thought = null;
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
    this.board.show({ fen: node.fen, last: node.uci, moves: info?.moves ?? [], check: info?.check ?? "", free }, { slide: true, say: node.san });
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
