// Analyse: a board, a game with variations, one or two engines, what was pasted, an annotation with progress.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { EnginePanel } from "./engine.js";
import { SavedGames, saveGame } from "./games.js";
import { EvalBar, GameGraph } from "./graph.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { KeyMoments, followJob } from "./review.js";
import { keep, keepHeight, keepHere, keepOpen, kept } from "./store.js";
import { MoveList, START, Tree, decoded, turnOf } from "./tree.js";
import { button, choice, copy, dialog, field, guarded, save, scoreText, toast, valueOf } from "./widgets.js";

const STORE = "kibitz-analysis", ENGINES = "kibitz-engines", JOB = "kibitz-annotation";
const TOO_LONG = "The browser has no room left for this game: it will be lost on a reload. Save it as PGN.";
const REVIEW_NODES = 5000;
const LEVELS = [["beginner", "Beginner"], ["club", "Club player"], ["expert", "Expert"]];

export class Analyse {
  #visited = ""; // the address that was followed last
  several = ""; // games of a PGN that was opened
  #opens = false; // a game that lies elsewhere, too, and is saved once it is changed
  #warned = false; // that nothing can be kept is said once

  constructor() {
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci, san) => guarded(() => this.tree.play(uci, san)) });
    this.bar = new EvalBar();
    const hooks = {
      place: () => this.tree.place(),
      preview: (placement, uci) => this.board.preview(placement, uci),
      play: (ucis) => guarded(() => this.#playAll(ucis)),
      told: (message, panel) => this.#told(message, panel),
      changed: () => this.#keepEngines(),
    };
    this.panels = [new EnginePanel(0, hooks), new EnginePanel(1, hooks, { contempt: 20 })];
    this.panels[1].element.hidden = true;
    this.moves = new MoveList(this.tree);
    this.keyMoments = new KeyMoments(this.tree);
    this.openings = keepOpen(html("details", { class: "panel" }, html("summary", {}, "Openings")), "openings");
    this.openings.addEventListener("toggle", () => this.#openOpenings());
    this.saved = keepOpen(new SavedGames((game) => this.load(game)).element, "saved");
    this.graph = new GameGraph(this.tree, (node) => this.#valueOf(node));
    this.status = html("p", { class: "status", "aria-live": "polite" });
    this.words = html("p", { class: "words", hidden: true });
    this.games = html("div", { hidden: true });
    this.heading = html("p", { class: "names", hidden: true });
    this.progress = html("div", { class: "progress", hidden: true });
    this.element = html("div", { class: "desk" }, this.#left(), this.#right());
    this.tree.addEventListener("go", () => (this.#keep(), this.#show()));
    this.tree.addEventListener("change", () => (this.#opens || saveGame(this.tree), this.#keep(), this.#showNames()));
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => this.#drop(event));
    this.restored = guarded(() => this.#restore());
  }

  #left() {
    const step = (text, label, onclick) => button(text, onclick, { "aria-label": label, title: label });
    const controls = html("div", { class: "row controls" }, step("«", "To the start", this.tree.first), step("‹", "Back", this.tree.back), step("›", "Next move", this.tree.next), step("»", "To the end", this.tree.last), flipButton(this.board, () => this.#show()));
    return html("section", { class: "left", "aria-label": "Board" }, html("div", { class: "board-and-bar" }, this.bar.element, this.board.element), html("div", { class: "row" }, this.board.input, controls), this.graph.element, this.status);
  }

  #right() {
    const compare = button("Compare", () => this.compare(), { "aria-pressed": "false", title: "A second engine or other settings on the same position" });
    this.compareButton = compare;
    this.text = html("textarea", { rows: 3, placeholder: "Paste a game (PGN) or a position (FEN) here, or drop a file on the page", "aria-label": "Game or position", spellcheck: "false" });
    const tools = html("div", { class: "row" }, button("Open", () => this.read(this.text.value), { class: "accent" }), button("New", () => this.#reset()), button("Set up", () => this.#setUp()), button("Files", () => this.#files()), button("Copy position", () => copy(this.board.fen), { title: "As FEN" }), button("Copy link", () => guarded(() => this.#copyLink()), { title: "A link that holds the game" }), button("Picture", () => guarded(async () => (await import("./picture.js")).sharePicture(this.tree, this.board)), { title: "The position as PNG or SVG, the game as an animated GIF" }), button("Save game", () => guarded(async () => save("kibitz.pgn", await this.tree.pgn())), { title: "As PGN" }));
    const ofMoves = [button("Review", () => this.review(), { class: "accent", title: "Find the mistakes and the key moments of the game" }), button("Comment", () => this.#comment(), { title: "What is to be said of the last move" }), button("Annotate", () => this.#annotate(), { title: "Comments for the whole game" }), button("Remove move", () => this.#remove(), { title: "This move and all that follow it" }), button("Main line", () => this.tree.promote(this.tree.at), { title: "Make this variation the game" })];
    const offer = () => ofMoves.forEach((one) => (one.hidden = !this.tree.root.children.length));
    this.tree.addEventListener("change", offer);
    offer();
    const game = html("div", { class: "row" }, ...ofMoves, compare);
    const moves = html("section", { class: "panel" }, this.games, this.heading, this.words, keepHeight(this.moves.element, "moves"), game, this.progress);
    return html("section", { class: "right" }, html("div", { class: "engines" }, ...this.panels.map((one) => one.element)), this.keyMoments.element, moves, this.openings, html("section", { class: "panel", "aria-label": "Games and positions" }, this.text, tools), this.saved);
  }

  async shown() {
    this.panels.forEach((panel) => panel.pause(false));
    this.#openOpenings();
    if (!(await this.visit())) this.#show();
  }

  async #openOpenings() {
    if (!this.openings.open) return;
    const { Explorer } = await import("./explorer.js");
    if (!this.explorer) {
      this.explorer = new Explorer(this.tree);
      this.openings.append(this.explorer.element);
      if (this.several) this.explorer.offer(this.several);
    }
    await this.explorer.open();
  }

  left() {
    this.panels.forEach((panel) => panel.pause(true));
  }

  keys = {
    ArrowLeft: () => this.tree.back(), ArrowRight: () => this.tree.next(), Home: () => this.tree.first(), End: () => this.tree.last(),
    ArrowUp: () => this.tree.turn(-1), ArrowDown: () => this.tree.turn(1), f: () => (this.board.flip(), this.#show()), " ": () => this.panels[0].toggle(), t: () => this.#threat(),
  };

  compare(on = this.panels[1].element.hidden) {
    const [first, second] = this.panels;
    second.element.hidden = !on;
    this.element.classList.toggle("compared", on);
    this.compareButton.setAttribute("aria-pressed", on);
    second.toggle(on && first.on); // which is kept for a reload, too
    this.#arrows();
  }

  // --- what is shown ---------------------------------------------------------------------------

  async #show() {
    const node = this.tree.at;
    const place = { fen: node.fen, last: node.uci, moves: node.info?.moves ?? [], check: node.info?.check ?? "" };
    this.board.show(place, { slide: true, say: node.san ? `${node.san}` : "" });
    this.board.arrows = [];
    this.rows = {};
    this.words.hidden = true;
    this.#showValue();
    this.panels.forEach((panel) => panel.follow());
    if (!node.info) this.status.textContent = ""; // that of the position before
    const info = await guarded(() => this.tree.info(node));
    if (!info || this.tree.at !== node) return;
    this.board.show({ ...place, fen: info.fen, moves: info.moves, check: info.check }, { slide: true });
    const over = info.over ? `${info.over.result}, ${info.over.reason}` : info.claim ? `A draw can be claimed: ${info.claim}` : "";
    const side = turnOf(info.fen) === "w" ? "White to move" : "Black to move";
    this.status.textContent = [over || side, info.check && !info.over ? "check" : "", info.opening].filter(Boolean).join(" · ");
    this.#arrows();
    this.#remember();
  }

  /** Whose game it is, when and where, as far as the PGN says. */
  #showNames() {
    const tags = this.tree.tags;
    const said = (name) => (/^[?.\s*-]*$/.test(tags[name] ?? "") ? "" : tags[name]);
    const rated = (side) => said(side) + (said(side) && said(`${side}Elo`) ? ` (${said(`${side}Elo`)})` : "");
    const names = said("White") || said("Black") ? `${rated("White") || "?"} – ${rated("Black") || "?"}` : "";
    const facts = [said("Event"), said("Site"), said("Date")].filter(Boolean).join(", ");
    this.heading.replaceChildren(html("b", {}, names), names && facts ? " · " : "", html("span", { class: "soft" }, facts));
    this.heading.hidden = !names && !facts;
  }

  #valueOf(node) {
    return node.value ?? (node.eval ? valueOf(node.eval, turnOf(node.fen)) : null);
  }

  #showValue() {
    const node = this.tree.at;
    const text = node.eval ? scoreText({ kind: node.eval[0], amount: node.eval[1], mated: node.eval[1] === 0 }) : "";
    this.bar.show(this.#valueOf(node), text, this.board.flipped);
  }

  #told(message, panel) {
    if (message.fen !== this.tree.at.fen) return;
    if (panel === this.panels[0]) {
      this.tree.at.value = message.lines[0].value;
      this.bar.show(message.lines[0].value, scoreText(message.lines[0]), this.board.flipped);
      this.graph.draw();
    }
    this.rows[panel.number] = message.rows;
    this.#arrows();
  }

  #arrows() {
    const shown = this.panels.filter((panel) => panel.on && this.rows?.[panel.number]);
    this.board.arrows = shown.flatMap((panel) => panel.arrows("GB"[panel.number], this.rows[panel.number]));
  }

  async #playAll(ucis) {
    for (const uci of ucis) await this.tree.play(uci);
  }

  // --- games -----------------------------------------------------------------------------------

  /** Read a FEN or PGN; a wrong one is refused in a sentence, and nothing is lost. */
  async read(text) {
    const found = await guarded(() => ask("read", { text }));
    if (!found) return false;
    this.text.value = "";
    if (found.kind === "position") return this.replace({ fen: found.fen, nodes: [] });
    const [first, second, ...others] = found.skipped;
    this.replace(found.game, [first, second, others.length ? `And ${others.length} more.` : ""].filter(Boolean).join(" "), true);
    if (found.titles.length > 1) (this.several = text, this.explorer?.offer(text));
    this.#listGames(found.titles, (number) => ask("read", { text, number }).then((one) => (number ? one.game : found.game)));
    return true;
  }

  /** Another game in place of the one that is shown, which can be had back; `said` is what could not be read. */
  replace(game, said = "", own = false) {
    const before = this.tree.kept();
    this.load(game, own);
    const back = before.nodes.length ? [said ? "Undo" : "Bring it back", () => this.load(before)] : null;
    if (said || back) toast(said || "Another game was here before.", said ? "error" : "note", back);
    return true;
  }

  #remove() {
    const before = this.tree.kept(), { san } = this.tree.at;
    this.tree.remove(this.tree.at);
    if (san) toast(`${san} was removed, with all that followed.`, "note", ["Undo", () => this.load(before)]);
  }

  load(game, own = false) {
    this.games.hidden = true;
    this.progress.hidden = true;
    this.#opens = !own;
    this.tree.load({ tags: {}, chess960: false, comment: "", eval: null, ...game });
    this.#opens = false;
    this.#show();
    return true;
  }

  #listGames(titles, get) {
    this.games.hidden = titles.length < 2;
    const pick = async (number) => {
      const game = await guarded(() => get(Number(number)));
      if (!game) return;
      this.#opens = true;
      this.tree.load(game);
      this.#opens = false;
      this.#show();
    };
    this.games.replaceChildren(choice(`${titles.length} games`, titles.map((title, index) => [index, title]), 0, pick).element);
  }

  #reset() {
    this.replace({ fen: START, nodes: [] });
  }

  async #setUp() {
    const fen = await (await import("./setup.js")).setUp(this.tree.at.fen);
    if (fen) this.read(fen);
  }

  async #files() {
    const entry = await (await import("./files.js")).browse(["games", "suite"]);
    if (!entry) return;
    const [name, kind] = entry;
    this.status.textContent = "reading …";
    if (kind === "games") {
      const titles = await guarded(() => ask("open", { name, kind: "list" }));
      const get = (number) => ask("open", { name, kind: "games", number });
      const first = titles && (await guarded(() => get(0)));
      if (first) (this.replace(first), this.#listGames(titles, get));
    } else {
      const positions = await guarded(() => ask("open", { name, kind: "suite" }));
      if (positions) await this.#suite(positions);
    }
    this.#show();
  }

  /** The positions of a test suite in place of a game. */
  async #suite(positions) {
    const { suiteOf } = await import("./suite.js");
    const show = (fen, comment) => (this.tree.load({ fen, nodes: [], tags: {}, comment, eval: null }), this.#show());
    const suite = suiteOf(positions, { show, wanted: () => this.panels[0].wanted });
    this.games.replaceChildren(...suite.elements);
    this.replace({ fen: positions[0].fen, nodes: [] });
    this.games.hidden = false;
    suite.pick(0);
  }

  async #drop(event) {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    this.read(file ? await file.text() : event.dataTransfer.getData("text"));
  }

  // --- words -----------------------------------------------------------------------------------

  async #comment() {
    this.words.hidden = false;
    this.words.textContent = "thinking …";
    const node = this.tree.at;
    const text = await guarded(() => ask("comment", { place: this.tree.place(node) }));
    if (this.tree.at === node) ((this.words.textContent = text ?? ""), (this.words.hidden = !text));
  }

  async #copyLink() {
    const { linkOf } = await import("./share.js");
    await copy(await linkOf(await this.tree.pgn()));
  }

  /** What the other side would do if it were its turn, as a red arrow. */
  async #threat() {
    const node = this.tree.at;
    const found = await guarded(() => ask("threat", { place: this.tree.place(node) }));
    if (!found || this.tree.at !== node) return;
    this.board.arrows = [["R", found.move.slice(0, 2), found.move.slice(2, 4)]];
    this.status.textContent = `The threat is ${found.line.sans.slice(0, 5).join(" ")} (${scoreText(found.line)})`;
  }

  async #annotate() {
    const level = choice("For", LEVELS, "club"), nodes = field("Nodes for each position", { type: "number", min: 100, max: 1e6, value: 10000 });
    const answer = await dialog("Annotate the game", [html("p", { class: "soft" }, "Every position is searched; mistakes are searched again, deeper."), level.element, nodes.element], [["Annotate", "yes", "accent"], ["Cancel", null]]);
    if (!answer) return;
    await this.#annotated({ level: level.value, nodes: Number(nodes.input.value) });
  }

  async #annotated(how, reviewed = false) {
    const { saved } = this.tree, line = this.#line;
    const facts = await guarded(async () => ask("annotate", { pgn: await this.tree.pgn(), ...how }));
    if (facts) this.#follow(facts, { job: facts.job, saved, line, reviewed });
  }

  /** The game's own moves: by them an annotation knows whether its game is still the one that is shown. */
  get #line() {
    return [this.tree.root.fen, ...this.tree.main().slice(1).map((node) => node.uci)].join(" ");
  }

  /** Follow an annotation, over a reload, too; a game that is shown in the place of its own by then stays. */
  #follow(facts, begun) {
    const { saved, line, reviewed } = begun;
    keepHere(JOB, begun);
    followJob(this.progress, facts, (game) => {
      keepHere(JOB, null);
      const show = () => (this.load({ ...game, saved }, true), reviewed && this.#toKeyMoment());
      if (this.#line === line) return show();
      const done = new Tree();
      done.load({ ...game, saved });
      saveGame(done);
      return toast("The annotation of the game before is done: it is among the saved games.", "note", ["Show it", () => this.replace(done.kept())]);
    });
  }

  async #followAgain() {
    const begun = await kept(JOB);
    const facts = begun && (await ask("job", { job: begun.job }).catch(() => null));
    if (facts?.game || facts?.state === "running") this.#follow(facts, begun);
    else if (begun) keepHere(JOB, null);
  }

  #toKeyMoment() {
    this.tree.go(this.keyMoments.nodes[0] ?? this.tree.root);
    this.panels[0].toggle(true);
  }

  /** Search the whole game, then show where it turned, the first such moment at once, and what the engine sees there. */
  async review() {
    await this.#annotated({ nodes: REVIEW_NODES }, true);
  }

  // --- what survives a reload ------------------------------------------------------------------

  #keep() {
    const room = keep(STORE, this.tree.kept());
    if (!room && !this.#warned) toast(TOO_LONG);
    this.#warned = !room;
  }

  #keepEngines() {
    const compared = !this.panels[1].element.hidden;
    keepHere(ENGINES, { compared, panels: this.panels.map(({ on, wanted }) => ({ on, wanted })) });
  }

  #remember() {
    if (!/^(#analyse.*)?$/.test(location.hash)) return; // another view is shown by now
    if (location.hash !== this.#visited) return; // to be visited yet
    const node = this.tree.at;
    history.replaceState(null, "", node === this.tree.root && node.fen === START ? "#analyse" : `#analyse/${node.fen.replaceAll(" ", "_")}`);
    this.#visited = location.hash;
  }

  async #restore() {
    const [game, engines] = [await kept(STORE), await kept(ENGINES)];
    if (game) this.tree.load(game);
    if (engines?.compared) this.compare(true);
    engines?.panels.forEach(({ on, wanted }, number) => {
      Object.assign(this.panels[number].wanted, wanted);
      this.panels[number].toggle(on);
    });
    await this.visit();
    this.#followAgain(); // the view is there before the server answers
  }

  /** Go to the position that the address names, in this game or instead of it; whether there was one to go to. */
  async visit() {
    const address = location.hash, names = address !== this.#visited;
    this.#visited = address;
    if (names && address.startsWith("#game/")) {
      history.replaceState(null, "", "#analyse");
      const pgn = await guarded(async () => (await import("./share.js")).gameOf(address));
      return pgn ? this.read(pgn) : false;
    }
    const text = names ? await guarded(() => decoded(address)) : "";
    const fen = text?.split("/").slice(1).join("/").replaceAll("_", " ");
    if (!fen || fen === this.tree.at.fen) return false;
    const there = this.tree.find(fen);
    if (!there) return this.read(fen);
    this.tree.go(there);
    return true;
  }
}
