// Puzzles from a file with Lichess's columns: the first move is the opponent's, the others are to be found.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { filesOf, nothingHere } from "./files.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { MoveList, Tree, turnOf } from "./tree.js";
import { button, choice, guarded } from "./widgets.js";

export class Puzzles {
  constructor() {
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci) => this.#try(uci) });
    this.moves = new MoveList(this.tree);
    this.status = html("p", { class: "outcome", "aria-live": "polite" });
    this.facts = html("p", { class: "facts" });
    this.place = html("div");
    this.tally = html("p", { class: "facts" });
    this.counts = { solved: 0, tried: 0 };
    const buttons = html("div", { class: "row" }, button("Previous", () => this.open(this.number - 1)), button("Next", () => this.open(this.number + 1), { class: "accent" }), button("Any", () => this.open(Math.floor(Math.random() * this.puzzle.count))), button("Show", () => this.#solve()), button("Again", () => this.open(this.number)));
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
    const pick = (name) => ((this.file = name), this.open(0));
    this.place.replaceChildren(choice("From", files.map(([name]) => [name, name.replace(/^\d+\//, "")]), files[0][0], pick).element);
    await pick(files[0][0]);
  }

  keys = { ArrowLeft: () => this.tree.back(), ArrowRight: () => this.tree.next(), f: () => this.board.flip() };

  async open(number) {
    const count = this.puzzle?.count ?? 1;
    const puzzle = await guarded(() => ask("open", { name: this.file, kind: "puzzles", number: Math.max(0, Math.min(count - 1, number)) }));
    if (!puzzle) return;
    Object.assign(this, { puzzle, number: puzzle.number, wrong: false, solved: false });
    this.panel.hidden = false;
    this.tree.reset(puzzle.fen);
    this.tree.changed();
    this.board.flipped = turnOf(puzzle.fen) === "w";
    this.facts.textContent = `Puzzle ${puzzle.number + 1} of ${puzzle.count}${puzzle.rating ? ` · rated ${puzzle.rating}` : ""}`;
    this.#show();
    await guarded(() => this.tree.play(puzzle.moves[0]));
    this.#say(`${this.board.flipped ? "Black" : "White"} to move: find the best move.`, "");
  }

  get #done() {
    return this.tree.path().length;
  }

  async #try(uci) {
    if (this.solved) return;
    const { moves } = this.puzzle, expected = moves[this.#done];
    const node = this.tree.at;
    await guarded(() => this.tree.play(uci));
    const mate = this.tree.at.info?.over?.reason === "checkmate";
    if (uci !== expected && !mate) {
      this.wrong = true;
      const made = this.tree.at;
      this.tree.go(node);
      this.tree.remove(made);
      return this.#say(`${made.san} is not it. Try again.`, "bad");
    }
    if (mate || this.#done >= moves.length) return this.#end();
    this.#say("Right; go on.", "good");
    await guarded(() => this.tree.play(moves[this.#done]));
    return undefined;
  }

  #end() {
    this.solved = true;
    this.counts.tried += 1;
    this.counts.solved += this.wrong ? 0 : 1;
    this.#say(this.wrong ? "Solved, not at the first try." : "Solved.", "good");
    this.facts.textContent += this.puzzle.themes.length ? ` · ${this.puzzle.themes.join(", ")}` : "";
    this.tally.textContent = `${this.counts.solved} of ${this.counts.tried} at the first try`;
    this.#show();
  }

  async #solve() {
    this.wrong = true;
    while (this.#done < this.puzzle.moves.length) if (!(await guarded(() => this.tree.play(this.puzzle.moves[this.#done])))) return;
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
