// Coach: one's own mistakes to be solved when they are due, what costs points, and the openings of one's games.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { Explorer } from "./explorer.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { keepHere, kept } from "./store.js";
import { MoveList, START, Tree, turnOf } from "./tree.js";
import { button, field, guarded, percent, toast } from "./widgets.js";

const STORE = "kibitz-coach";
const DECKS = [["own", "Your mistakes"], ["opponent", "Your opponents' mistakes"]];
const MODES = [["train", "Solve"], ["profile", "What costs you points"], ["openings", "Openings"]];
const GROUPS = { all: "Points lost a game; a win is one", phase: "By phase", "motif missed": "Missed", "motif allowed": "Allowed", clock: "By time left", "after a mistake": "After a mistake", colour: "By colour", "time control": "By time control", opening: "By opening", month: "By month" };
const PART = 200_000; // letters of a PGN that are sent at a time, of up to four bytes
const AGAIN = 3000; // milliseconds between two looks at an analysis

/** A PGN in parts of whole games that are short enough to be sent. */
function* pieces(text) {
  let part = "";
  for (const game of text.split(/(?<=\n)(?=\[Event )/)) {
    if (part && part.length + game.length > PART) (yield part, (part = ""));
    part += game;
  }
  yield part;
}

export class Coach {
  #state = { mode: "train", deck: "own", item: null, hints: 0, began: 0 };
  #question = null; // what is asked, until it is answered
  #verdict = null;
  #example = null; // [game, ply] that is shown
  #timer = 0;

  constructor(views) {
    this.views = views;
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci, san) => this.#move(uci, san) });
    this.moves = new MoveList(this.tree);
    this.explorer = new Explorer(this.tree);
    this.status = html("p", { class: "outcome", "aria-live": "polite" });
    this.hints = html("ul", { class: "plain" });
    this.reasons = html("div", { class: "reasons", "aria-live": "polite" });
    this.decks = html("div", { class: "row" }, ...DECKS.map(([deck, text]) => button(text, () => ((this.#state.deck = deck), this.#ask()), { "data-deck": deck })));
    this.made = {
      hint: button("Hint", () => this.#hint()), solution: button("Solution", () => this.#answer(null)), next: button("Next", () => this.#ask(), { class: "accent" }), back: button("Back to the game", () => this.#toGame(this.#verdict.game, this.#verdict.ply)),
    };
    this.modes = html("div", { class: "row modes" }, ...MODES.map(([name, text]) => button(text, () => this.#enter(name), { "data-mode": name })));
    this.train = html("section", { class: "panel", "aria-label": "Solve" }, this.decks, this.status, this.hints, this.reasons, html("div", { class: "row" }, ...Object.values(this.made)), this.moves.element);
    this.profile = html("section", { class: "panel profile", "aria-label": "What costs you points" });
    this.openings = html("section", { class: "panel", "aria-label": "Openings" }, html("div", { class: "row" }, button("To the start", () => this.tree.first()), button("Back", () => this.tree.back())), this.explorer.element);
    this.games = html("section", { class: "panel", "aria-label": "Your games" });
    const left = html("section", { class: "left", "aria-label": "Board" }, html("div", { class: "board-and-bar" }, this.board.element), html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, button("‹", this.tree.back, { "aria-label": "Back" }), button("›", this.tree.next, { "aria-label": "Next move" }), flipButton(this.board))));
    this.element = html("div", { class: "desk coach" }, left, html("section", { class: "right" }, this.modes, this.train, this.profile, this.openings, this.games));
    this.tree.addEventListener("go", () => this.#show());
    this.#addGames();
    this.restored = kept(STORE).then((state) => Object.assign(this.#state, state));
  }

  keys = { ArrowLeft: () => this.tree.back(), ArrowRight: () => this.tree.next(), f: () => this.board.flip(), h: () => this.made.hint.click(), n: () => this.made.next.click() };

  async shown() {
    await this.#stands();
    await this.#enter(this.#state.mode, false);
  }

  left() {
    clearTimeout(this.#timer);
  }

  // --- how it stands ---------------------------------------------------------------------------

  async #stands(changes = {}) {
    const before = this.now;
    let failure = "";
    const now = await ask("coach", changes).catch((error) => void (failure = error.message));
    clearTimeout(this.#timer);
    if ((now ?? before)?.analysing && this.element.isConnected) this.#timer = setTimeout(() => this.#look(), AGAIN);
    if (failure) toast(failure);
    if (!now) return void (before || (this.counts.textContent = failure));
    this.now = now;
    if (now.error && now.error !== before?.error) toast(now.error);
    for (const [number, [deck, text]] of DECKS.entries()) {
      const { due = 0, items = 0 } = now.decks[deck] ?? {}, shown = this.decks.children[number];
      shown.textContent = `${text}: ${due} due of ${items}`;
      shown.setAttribute("aria-pressed", String(deck === this.#state.deck));
    }
    this.intro.hidden = now.games > 0;
    this.counts.textContent = now.games ? `${now.games} ${now.games === 1 ? "game" : "games"} of ${now.names.join(", ")}, ${now.analysed} analysed` : "";
    this.analysis.hidden = now.games === 0 || (now.analysed >= now.games && !now.analysing);
    this.analysis.textContent = now.analysing ? "Stop the analysis" : "Analyse the games";
    this.working.hidden = !now.analysing;
    this.working.max = Math.max(1, now.games);
    this.working.value = now.analysed;
  }

  /** While games are analysed: how far it is, and the first items as they come. */
  async #look() {
    await this.#stands();
    const waits = this.#state.mode === "train" && !this.#question && !this.#verdict;
    if (waits && this.now?.decks[this.#state.deck]?.due) await this.#ask();
  }

  #addGames() {
    this.intro = html("p", { hidden: true }, "No games yet. In a terminal, ", html("code", {}, "kibitz coach add lichess:NAME"), " or ", html("code", {}, "kibitz coach add chesscom:NAME"), " fetches yours. A PGN file can be added here:");
    this.counts = html("p", { class: "facts", role: "status" });
    this.working = html("progress", { hidden: true, "aria-label": "Analysis of the games" });
    this.analysis = button("Analyse the games", () => this.#stands({ analyse: !this.now.analysing }), { hidden: true });
    const name = field("Your name in the games", { type: "text", autocomplete: "off" }), file = field("PGN file", { type: "file", accept: ".pgn" });
    const add = button("Add", () => guarded(async () => {
      const [chosen] = file.input.files;
      if (!chosen) throw new Error("Choose a PGN file first.");
      const added = {};
      for (const text of pieces(await chosen.text())) {
        const counts = await ask("addgames", { text, player: name.input.value });
        for (const [what, count] of Object.entries(counts)) added[what] = (added[what] ?? 0) + count;
      }
      toast(Object.entries(added).map(([what, count]) => `${count} ${what}`).join(", ") || "No game is in this file.", "note");
      await this.#stands();
      if (this.#state.mode !== "train" || !(this.#question || this.#verdict)) await this.#enter(this.#state.mode, false);
    }));
    this.games.append(this.intro, html("div", { class: "row" }, this.counts, this.working, this.analysis), html("details", {}, html("summary", {}, "Add games"), html("div", { class: "row" }, name.element, file.element, add)));
  }

  async #enter(mode, fresh = true) {
    this.#state.mode = mode;
    this.#keep();
    for (const [name] of MODES) this[name].hidden = name !== mode;
    for (const one of this.modes.children) one.setAttribute("aria-pressed", String(one.dataset.mode === mode));
    if (mode === "train" && (fresh || !this.#verdict)) await this.#ask();
    if (mode === "profile") await this.#showProfile();
    if (mode === "openings") {
      if (fresh || !this.tree.root.children.length) this.#load({ fen: START, nodes: [] });
      await this.explorer.open();
    }
  }

  #keep() {
    keepHere(STORE, this.#state);
  }

  #load(game, side = "") {
    this.#question = null;
    this.tree.load({ tags: {}, chess960: false, comment: "", eval: null, ...game });
    if (side) this.board.flipped = side === "b";
    this.#show();
  }

  // --- the deck --------------------------------------------------------------------------------

  async #ask() {
    this.#verdict = this.#question = null;
    this.hints.replaceChildren();
    this.reasons.replaceChildren();
    this.made.back.hidden = this.made.next.hidden = true;
    await this.#stands();
    const { deck } = this.#state, question = this.now?.games && !this.now.missing ? await guarded(() => ask("question", { deck })) : null;
    this.made.hint.hidden = this.made.solution.hidden = this.moves.element.hidden = !question;
    if (!question) return this.#nothing();
    const { fen, moves, chess960 } = question.place;
    this.#load({ fen, chess960, nodes: [] });
    for (const uci of moves) if (!(await guarded(() => this.tree.play(uci)))) return undefined;
    this.#question = { ...question, node: this.tree.at };
    this.board.flipped = turnOf(this.tree.at.fen) === "b";
    const again = this.#state.item === question.item && this.#state.began;
    Object.assign(this.#state, again ? {} : { item: question.item, hints: 0, began: Date.now() });
    for (let which = 0; which < this.#state.hints; which++) await this.#tell(which);
    this.made.hint.disabled = this.#state.hints >= question.hints;
    this.#keep();
    this.#say(`${this.board.flipped ? "Black" : "White"} to move: find a good move.`);
    return this.#show();
  }

  #nothing() {
    const standing = this.now?.decks[this.#state.deck];
    this.#load({ fen: START, nodes: [] });
    if (this.now?.missing) return this.#say(this.now.missing, "bad");
    if (!this.now?.games) return this.#say("");
    if (!standing?.items) return this.#say(this.now.analysed ? "Nothing to solve in the games that are analysed." : "Analyse the games first: that finds what to solve.");
    return this.#say(`Nothing is due now.${standing.next ? ` The next comes ${standing.next}.` : ""}`, "good");
  }

  async #tell(which) {
    const text = await guarded(() => ask("itemhint", { item: this.#question.item, which }));
    if (text) this.hints.append(html("li", {}, text));
  }

  async #hint() {
    if (!this.#question || this.#state.hints >= this.#question.hints) return;
    await this.#tell(this.#state.hints++);
    this.made.hint.disabled = this.#state.hints >= this.#question.hints;
    this.#keep();
  }

  async #move(uci, san) {
    if (this.#question && this.tree.at !== this.#question.node) return undefined;
    return this.#question ? this.#answer(uci, san) : guarded(() => this.tree.play(uci, san));
  }

  async #answer(move, san = "") {
    const question = this.#question, { hints, began } = this.#state;
    if (!question) return;
    this.#question = null; // the first answer counts
    const { item, due, node } = question;
    const verdict = await guarded(() => ask("answer", { item, due, move, seconds: (Date.now() - began) / 1000, helped: hints > 0 }));
    if (!verdict) return void this.#ask();
    this.#verdict = verdict;
    Object.assign(this.#state, { item: null, hints: 0, began: 0 });
    this.#keep();
    if (move) await guarded(() => this.tree.play(move, san));
    this.tree.go(node);
    for (const uci of verdict.line) if (!(await guarded(() => this.tree.play(uci)))) break;
    this.tree.go(node);
    this.board.arrows = [["G", verdict.line[0].slice(0, 2), verdict.line[0].slice(2, 4)]];
    this.#say(verdict.right ? "Right." : move ? `${san} is not good enough.` : "Here it is.", verdict.right ? "good" : "bad");
    this.reasons.replaceChildren(...verdict.reasons.map((text) => html("p", {}, text)), html("p", { class: "soft" }, `Again ${verdict.again}.`));
    this.made.hint.hidden = this.made.solution.hidden = true;
    this.made.back.hidden = this.made.next.hidden = false;
    this.made.next.focus();
    await this.#stands();
  }

  #say(text, kind = "") {
    this.status.textContent = text;
    this.status.className = `outcome ${kind}`;
  }

  /** Open a game in Analyse, before a move. */
  async #toGame(number, ply) {
    const game = await guarded(() => ask("owngame", { game: number }));
    if (game) this.views.analyse({ ...game, at: ply - 1 });
  }

  // --- what costs points -----------------------------------------------------------------------

  async #showProfile() {
    if (!this.now) return this.profile.replaceChildren();
    if (!this.now.analysed) return this.profile.replaceChildren(html("p", { class: "soft" }, "Analyse the games first: that finds what costs points."));
    if (!this.profile.childElementCount) this.profile.replaceChildren(html("p", { class: "soft" }, "counting …"));
    const found = await guarded(() => ask("profile"));
    if (!found) return undefined;
    const groups = Object.entries(Object.groupBy(found.figures, (one) => one.group));
    const most = Math.max(...found.figures.map((one) => one.cost), 1e-9);
    const costs = ({ cost, error, games }) => `${cost.toFixed(2)}${error == null ? "" : ` ± ${error.toFixed(2)}`} · ${games} games`;
    const parts = groups.map(([group, rows]) => html("div", {}, html("h2", {}, GROUPS[group] ?? group), ...rows.map((row) => this.#figure(row, row.cost / most, costs(row)))));
    const endings = found.endings.filter((one) => one.ahead || one.behind).map((one) => html("p", {}, `${one.ending}: won ${one.won} of ${one.ahead} to be won, saved ${one.saved} of ${one.behind} to be saved`));
    this.example = html("div", { class: "row", hidden: true });
    const beside = html("div", { hidden: true });
    this.profile.replaceChildren(this.example, ...parts, ...(endings.length ? [html("h2", {}, "Endings"), ...endings] : []), beside);
    const people = await guarded(() => ask("profile", { people: true }));
    if (!people?.length) return undefined;
    const shares = ({ chances, played, expected, error }) => `you ${percent(played)}, others ${percent(expected)}${error == null ? "" : ` ± ${percent(error)}`} · ${chances} positions`;
    beside.append(html("h2", {}, "Found where one move was good: by you, and by people of your rating"), ...people.map((row) => this.#figure(row, row.played, shares(row))));
    beside.hidden = false;
    return undefined;
  }

  #figure({ name, examples }, share, text) {
    const bar = html("span", { class: "bar" });
    bar.style.width = `${100 * share}%`;
    const links = examples.map(([game, ply, address]) => html("li", {}, button(address.replace(/^https:\/\/(www\.)?/, ""), () => this.#showExample(game, ply), { class: "line-move" })));
    const summary = html("summary", {}, bar, html("span", {}, name), html("span", { class: "facts" }, text));
    return html("details", { class: "figure" }, summary, links.length ? html("ul", { class: "plain" }, ...links) : html("p", { class: "soft" }, "No single move cost much."));
  }

  async #showExample(number, ply) {
    const game = await guarded(() => ask("owngame", { game: number }));
    if (!game) return;
    this.#load({ ...game, at: ply - 1 });
    this.board.flipped = turnOf(this.tree.at.fen) === "b";
    this.#show();
    const played = this.tree.at.children[0];
    if (played) this.board.arrows = [["R", played.uci.slice(0, 2), played.uci.slice(2, 4)]];
    this.example.hidden = false;
    this.example.replaceChildren(html("span", {}, `${game.tags.White} – ${game.tags.Black}: ${played ? `${this.tree.numberText(played, true)} ${played.san} was played.` : ""}`), button("Back to the game", () => this.#toGame(number, ply), { class: "accent" }));
    this.element.querySelector(".left").scrollIntoView({ block: "nearest" });
  }

  // --- the board -------------------------------------------------------------------------------

  async #show() {
    const { tree } = this, node = tree.at;
    const asked = this.#question;
    const free = asked ? (node === asked.node ? turnOf(node.fen) : "") : "wb";
    const place = () => ({ fen: node.fen, last: node.uci, moves: node.info?.moves ?? [], check: node.info?.check ?? "", free });
    this.board.arrows = [];
    this.board.show(place(), { slide: true, say: node.san });
    if (!node.info && (await guarded(() => tree.info(node))) && tree.at === node) this.board.show(place());
  }
}
