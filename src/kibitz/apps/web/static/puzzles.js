// Puzzles from a file with Lichess's columns: the first move is the opponent's, the others are to be found.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { filesOf, nothingHere } from "./files.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { keepHere, kept } from "./store.js";
import { MoveList, Tree, turnOf } from "./tree.js";
import { button, choice, guarded } from "./widgets.js";

const STORE = "kibitz-puzzles";

export class Puzzles {
  constructor() {
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci, san) => this.#try(uci, san) });
    this.moves = new MoveList(this.tree);
    this.status = html("p", { class: "outcome", "aria-live": "polite" });
    this.facts = html("p", { class: "facts" });
    this.place = html("div");
    this.tally = html("p", { class: "facts" });
    this.counts = { solved: 0, tried: 0 };
    this.previous = button("Previous", () => this.open(this.number - 1));
    this.next = button("Next", () => this.open(this.number + 1), { class: "accent" });
    this.any = button("Any", () => this.open(this.#other()), { title: "Another puzzle, by chance" });
    this.easier = button("Easier", () => this.open(this.puzzle.easier), { title: "The puzzle that is next by rating" });
    this.harder = button("Harder", () => this.open(this.puzzle.harder), { title: "The puzzle that is next by rating" });
    const buttons = html("div", { class: "row" }, this.previous, this.next, this.any, this.easier, this.harder, button("Show", () => this.#solve()), button("Again", () => this.open(this.number)));
    const left = html("section", { class: "left", "aria-label": "Board" }, html("div", { class: "board-and-bar" }, this.board.element), html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, flipButton(this.board))));
    this.panel = html("section", { class: "panel", hidden: true }, this.status, this.facts, this.moves.element, buttons, this.tally);
    this.element = html("div", { class: "desk" }, left, html("section", { class: "right" }, html("section", { class: "panel" }, html("h2", {}, "Puzzles"), this.place), this.panel));
    this.tree.addEventListener("go", () => this.#show());
  }

  async shown() {
    if (this.file) return;
    const files = await filesOf(["puzzles"]);
    if (!files.length) {
      this.place.replaceChildren(nothingHere("puzzles (CSV with Lichess's columns)"));
      return;
    }
    const names = files.map(([name]) => name), before = await kept(STORE);
    const pick = (name, number = 0) => (Object.assign(this, { file: name, puzzle: null }), this.open(number));
    const first = names.includes(before?.file) ? before.file : names[0];
    this.place.replaceChildren(choice("From", names.map((name) => [name, name.replace(/^\d+\//, "")]), first, (name) => pick(name)).element);
    if (before) this.counts = before.counts;
    this.#tell();
    await pick(first, first === before?.file ? before.number : 0);
    if (!this.puzzle) await pick(first); // the file has become shorter
  }

  keys = { ArrowLeft: () => this.tree.back(), ArrowRight: () => this.tree.next(), f: () => this.board.flip() };

  /** The number of another puzzle than the one shown. */
  #other() {
    const step = 1 + Math.floor(Math.random() * (this.puzzle.count - 1));
    return (this.number + step) % this.puzzle.count;
  }

  #tell() {
    const { solved, tried } = this.counts;
    this.tally.textContent = tried ? `${solved} of ${tried} at the first try` : "";
  }

  async open(number) {
    const puzzle = await guarded(() => ask("open", { name: this.file, kind: "puzzles", number }));
    if (!puzzle) return;
    this.previous.disabled = puzzle.number <= 0;
    this.next.disabled = puzzle.number >= puzzle.count - 1;
    this.any.disabled = puzzle.count < 2;
    this.easier.disabled = puzzle.easier === null;
    this.harder.disabled = puzzle.harder === null;
    keepHere(STORE, { file: this.file, number: puzzle.number, counts: this.counts });
    Object.assign(this, { puzzle, number: puzzle.number, wrong: false, solved: false });
    this.panel.hidden = false;
    this.tree.reset(puzzle.fen);
    this.tree.changed();
    this.board.flipped = turnOf(puzzle.fen) === "w";
    this.facts.textContent = `Puzzle ${puzzle.number + 1} of ${puzzle.count}${puzzle.rating ? ` · rated ${puzzle.rating}` : ""}`;
    this.#show();
    await guarded(() => this.tree.play(puzzle.first));
    this.#say(`${this.board.flipped ? "Black" : "White"} to move: find the best move.`, "");
  }

  /** The server says whether a move is right, and what comes next: the solution is not in the page. */
  #judge(move) {
    return guarded(() => ask("solve", { name: this.file, number: this.number, played: this.tree.path().map((one) => one.uci), move }));
  }

  async #try(uci, san) {
    if (this.solved) return undefined;
    const node = this.tree.at, verdict = await this.#judge(uci);
    if (!verdict || this.tree.at !== node || this.solved) return undefined;
    if (!verdict.right) {
      this.wrong = true;
      return this.#say(`${san} is not it. Try again.`, "bad");
    }
    await guarded(() => this.tree.play(uci, san));
    if (verdict.over) return this.#end();
    this.#say("Right; go on.", "good");
    return guarded(() => this.tree.play(verdict.left[0]));
  }

  #end() {
    this.solved = true;
    this.counts.tried += 1;
    this.counts.solved += this.wrong ? 0 : 1;
    this.#say(this.wrong ? "Solved, not at the first try." : "Solved.", "good");
    this.facts.textContent += this.puzzle.themes.length ? ` · ${this.puzzle.themes.join(", ")}` : "";
    this.#tell();
    keepHere(STORE, { file: this.file, number: this.number, counts: this.counts });
    if (this.next.disabled) this.#say(`${this.status.textContent} That was the last puzzle of the file.`, "good");
    this.#show();
  }

  async #solve() {
    if (this.solved) return;
    this.wrong = true;
    for (const uci of (await this.#judge(null))?.left ?? []) if (!(await guarded(() => this.tree.play(uci)))) return;
    if (!this.solved) this.#end();
  }

  #say(text, kind) {
    this.status.textContent = text;
    this.status.className = `outcome ${kind}`;
  }

  async #show() {
    const node = this.tree.at;
    const side = this.board.flipped ? "b" : "w";
    const place = () => ({ fen: node.fen, last: node.uci, moves: node.info?.moves ?? [], check: node.info?.check ?? "", free: this.solved ? "" : side });
    this.board.show(place(), { slide: true, say: node.san });
    if (!node.info && (await guarded(() => this.tree.info(node))) && this.tree.at === node) this.board.show(place());
  }
}
