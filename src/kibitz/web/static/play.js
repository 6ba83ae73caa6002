// Play: against the engine, at any strength, with clocks, odds, take back, hints; then the review.

import { html } from "./board.js";
import { followJob } from "./analyse.js";
import { ask, connection } from "./connection.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { FAULTS, MoveList, START, Tree, turnOf } from "./tree.js";
import { button, choice, field, guarded, save, scoreText, toast } from "./widgets.js";

const ODDS = [
  ["", "none"],
  ["rnbqkbnr/ppppp1pp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "pawn f7"],
  ["r1bqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "knight b8"],
  ["rn1qkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "bishop c8"],
  ["1nbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQk - 0 1", "rook a8"],
  ["rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "queen d8"],
];
const TIMES = [["1", "1 second a move"], ["3", "3 seconds a move"], ["10", "10 seconds a move"], ["60+0", "1 minute"], ["180+2", "3 minutes + 2 s"], ["300+3", "5 minutes + 3 s"], ["900+10", "15 minutes + 10 s"]];
const STARTS = [["standard", "Standard"], ["960", "Chess960, any of them"], ["fen", "A FEN"]];
const LOW = 20_000; // milliseconds from which a clock warns
const FULL = 3100; // the end of the strength slider
const STORE = "kibitz-game";

/** The same start with the colours exchanged: odds that White gives. */
function exchanged(fen) {
  const [board, , castling] = fen.split(" ");
  const swap = (text) => text.replace(/[a-z]/gi, (one) => (one < "a" ? one.toLowerCase() : one.toUpperCase()));
  return `${swap(board.split("/").reverse().join("/"))} w ${[...swap(castling)].sort().join("")} - 0 1`;
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
    this.progress = html("div", { class: "progress", hidden: true });
    this.review = html("div", { hidden: true });
    this.top = html("div");
    this.bottom = html("div");
    this.buttons = this.#buttons();
    this.form = this.#form();
    const left = html("section", { class: "left", "aria-label": "Board" }, this.top, html("div", { class: "board-and-bar" }, this.board.element), this.bottom, html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, flipButton(this.board, () => this.#seats()))));
    this.panel = html("section", { class: "panel", hidden: true }, this.status, this.moves.element, this.buttons, this.progress, this.review);
    this.element = html("div", { class: "desk play" }, left, html("section", { class: "right" }, this.panel, this.form));
    this.tree.addEventListener("go", () => this.#show());
    setInterval(() => this.#tick(), 100);
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
    const shown = () => (label.textContent = Number(this.strength.value) >= FULL ? "full strength" : this.strength.value);
    this.strength.addEventListener("input", shown);
    const strength = html("label", { class: "field wide-field" }, html("span", {}, "Strength, steps of the engine's own scale: ", label), this.strength);
    this.ponder = field("It thinks on your time", { type: "checkbox" });
    const start = button("Play", () => this.begin(), { class: "accent", id: "start-game" });
    ask("hello").then(({ networks }) => this.fields.network.select.append(...networks.map((name) => html("option", { value: name }, name))), () => {});
    return html("section", { class: "panel", "aria-label": "A new game" }, html("h2", {}, "A new game"), html("div", { class: "form" }, strength, ...Object.values(this.fields).map((one) => one.element), this.fen.element, this.ponder.element), html("div", { class: "row" }, start));
  }

  #buttons() {
    const made = {
      back: button("Take back", () => this.#takeBack()), hint: button("Hint", () => this.#hint()), claim: button("Claim draw", () => this.#claim()), resign: button("Resign", () => this.#end(this.side === "w" ? "0-1" : "1-0", "you resigned")),
      review: button("Review", () => this.#review(), { class: "accent" }), analyse: button("Analyse", () => this.#analyse()), pgn: button("Save PGN", () => guarded(async () => save("game.pgn", await this.tree.pgn()))), again: button("New game", () => this.#again()),
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
    let fen = START, chess960 = false;
    if (start.value === "960") [fen, chess960] = [await guarded(() => ask("start960", { number: Math.floor(960 * Math.random()) })), true];
    else if (start.value === "fen") fen = this.fen.input.value.trim() || START;
    else if (odds.value) fen = mine === "w" ? odds.value : exchanged(odds.value);
    if (!fen || !(await guarded(() => ask("position", { place: { fen, chess960 } })))) return;
    const elo = Number(this.strength.value);
    const [base, increment] = time.value.split("+").map(Number);
    const timed = increment !== undefined;
    this.settings = { elo: elo >= FULL ? null : elo, movetime: timed ? null : 1000 * base, base: timed ? 1000 * base : null, increment: 1000 * (increment ?? 0), network: network.value, ponder: this.ponder.input.checked };
    this.side = mine;
    this.tree.reset(fen, { chess960, tags: this.#tags() });
    this.clocks = timed ? { w: 1000 * base, b: 1000 * base } : null;
    this.tree.changed();
    this.#started();
  }

  #tags() {
    const engine = `Kibitz${this.settings.elo ? ` (${this.settings.elo})` : ""}`;
    const now = new Date();
    const date = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((one) => String(one).padStart(2, "0")).join(".");
    return { Event: "Casual game", Date: date, White: this.side === "w" ? "You" : engine, Black: this.side === "b" ? "You" : engine, Result: "*" };
  }

  #started() {
    this.over = "";
    this.asked = null;
    this.progress.unfollow?.(); // the review of the game before
    this.review.hidden = this.progress.hidden = true;
    this.panel.hidden = false;
    this.form.hidden = true;
    this.board.flipped = this.side === "b";
    this.since = performance.now();
    this.#seats();
    this.#show();
    this.#next();
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
    const spent = performance.now() - this.since;
    const left = (side) => Math.max(1, Math.round(clocks[side] - (side === this.#turn ? spent : 0)));
    const limits = clocks ? { wtime: left("w"), btime: left("b"), winc: increment, binc: increment } : { movetime };
    const token = (this.asked = {});
    this.#say("The engine is thinking …");
    const found = await guarded(() => ask("think", { place: this.tree.place(), wanted: this.#wanted(), ...limits }));
    if (this.asked !== token || this.over || this.tree.at !== node) return;
    if (!found) return this.#say("The engine could not move; take back, or begin a new game.");
    await this.#make(found.move, found.san);
  }

  async #person(uci, san) {
    if (this.over || !this.side || this.#turn !== this.side) return;
    await this.#make(uci, san);
  }

  async #make(uci, san) {
    const side = this.#turn;
    if (this.clocks) {
      this.clocks[side] -= performance.now() - this.since;
      if (this.clocks[side] <= 0) return this.#flag(side);
      this.clocks[side] += this.settings.increment;
    }
    this.since = performance.now();
    if (await guarded(() => this.tree.play(uci, san))) {
      this.#keep();
      await this.#next();
    }
  }

  #tick() {
    if (!this.clocks || this.over || !this.side) return;
    const running = this.#turn;
    for (const side of "wb") {
      const left = this.clocks[side] - (side === running ? performance.now() - this.since : 0);
      const { clock } = this.players[side];
      clock.textContent = clockText(left);
      clock.classList.toggle("runs", side === running && left > 0);
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
    this.tree.go(gone.parent);
    this.tree.remove(gone);
    this.since = performance.now();
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

  async #claim() {
    const info = await guarded(() => this.tree.info());
    if (info?.claim) this.#end("1/2-1/2", info.claim);
    else if (info) toast("There is no draw to claim: neither three times the same position nor fifty moves.", "note");
  }

  #end(result, reason) {
    this.over = result;
    this.asked = null;
    this.tree.tags.Result = result;
    this.#say(`${result.replace("1/2-1/2", "½–½")}, ${reason}`);
    this.moves.draw();
    this.#show();
    localStorage.removeItem(STORE);
  }

  #again() {
    if (!this.over && this.side) this.#end("*", "broken off");
    this.form.hidden = false;
    this.form.scrollIntoView({ block: "nearest" });
  }

  async #analyse() {
    const read = await guarded(async () => ask("read", { text: await this.tree.pgn() }));
    if (read) this.views.analyse(read.game);
  }

  /** Annotate the game; its key moments are listed, and its comments shown. */
  async #review() {
    const facts = await guarded(async () => ask("annotate", { pgn: await this.tree.pgn(), nodes: 5000 }));
    if (!facts) return;
    followJob(this.progress, facts, (game) => this.#reviewed(game));
  }

  #reviewed(game) {
    this.tree.load(game);
    this.tree.last();
    const main = this.tree.main();
    const entry = (ply) => {
      const node = main[ply + 1];
      const fault = node.nags.map((nag) => FAULTS[nag]).find(Boolean) ?? "";
      return html("li", {}, button(`${this.tree.numberText(node, true)} ${node.san}`, () => this.tree.go(node), { class: `move ${fault}` }), " ", html("span", {}, node.comment));
    };
    this.review.hidden = false;
    this.review.replaceChildren(html("h3", {}, "Key moments"), game.keys.length ? html("ol", {}, ...game.keys.map(entry)) : html("p", { class: "soft" }, "No move changed the game much."));
  }

  // --- what is shown ---------------------------------------------------------------------------

  #say(text) {
    this.status.textContent = text;
  }

  #show() {
    const node = this.tree.at, info = node.info;
    const mine = this.side && !this.over;
    const free = mine ? this.side : "";
    this.board.arrows = [];
    this.board.show({ fen: node.fen, last: node.uci, moves: info?.moves ?? [], check: info?.check ?? "", free }, { slide: true, say: node.san });
    if (mine && this.#turn !== this.side) this.#say("The engine is thinking …");
    else if (mine) this.#say(info ? "Your move" : ""); // a click counts once the legal moves are there
    const { back, hint, claim, resign, review, analyse, pgn } = this.made;
    for (const one of [back, hint, claim, resign]) one.hidden = Boolean(this.over);
    for (const one of [review, analyse, pgn]) one.hidden = !this.over || !this.tree.root.children.length;
    if (!this.side) this.#say("");
  }

  async #keep() {
    const pgn = await this.tree.pgn().catch(() => "");
    if (pgn && !this.over) localStorage.setItem(STORE, JSON.stringify({ pgn, side: this.side, settings: this.settings, clocks: this.clocks }));
  }

  /** Go on with the game that a reload has interrupted. */
  async #restore() {
    const kept = localStorage.getItem(STORE);
    if (!kept) return;
    const { pgn, side, settings, clocks } = JSON.parse(kept);
    const found = await ask("read", { text: pgn }).catch(() => null);
    if (!found?.game) return;
    Object.assign(this, { side, settings, clocks });
    this.tree.load(found.game);
    this.tree.last();
    this.#started();
  }
}
