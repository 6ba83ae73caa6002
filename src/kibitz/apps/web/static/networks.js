// Networks with their cards, and what each says of a position before any search.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { EvalBar, wdlBar } from "./graph.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { showPolicy } from "./training.js";
import { Tree } from "./tree.js";
import { button, choice, guarded, whole } from "./widgets.js";

const LONG = 120; // characters of a fact that is folded

export class Networks {
  constructor() {
    this.tree = new Tree();
    this.board = new PlayBoard({ onMove: (uci, san) => guarded(() => this.tree.play(uci, san)) });
    this.bar = new EvalBar();
    this.list = html("div");
    this.card = html("table", { class: "facts-table" });
    this.policy = html("ol", { class: "policy" });
    this.value = html("div");
    this.fen = html("input", { type: "text", "aria-label": "FEN", spellcheck: "false" });
    this.fen.addEventListener("change", () => this.#setFen());
    const left = html("section", { class: "left", "aria-label": "Board" }, html("div", { class: "board-and-bar" }, this.bar.element, this.board.element), html("div", { class: "row" }, this.board.input, html("div", { class: "row controls" }, button("‹", this.tree.back, { "aria-label": "Back" }), flipButton(this.board))), this.fen);
    const right = html("section", { class: "right" }, html("section", { class: "panel" }, html("h2", {}, "Networks"), this.list, html("div", { class: "two" }, html("div", {}, html("h3", {}, "What it says here"), this.value, this.policy), html("div", {}, html("h3", {}, "Its card"), this.card))));
    this.element = html("div", { class: "desk" }, left, right);
    this.tree.addEventListener("go", () => this.#show());
  }

  keys = { ArrowLeft: () => this.tree.back(), ArrowRight: () => this.tree.next(), f: () => this.board.flip() };

  async shown() {
    if (this.network) return;
    const known = await guarded(() => ask("hello"));
    if (!known) return;
    this.list.replaceChildren(choice("Network", known.networks, known.networks[0], (name) => this.#choose(name)).element);
    await this.#choose(known.networks[0]);
  }

  async #choose(network) {
    this.network = network;
    const card = await guarded(() => ask("card", { network }));
    if (card === undefined || this.network !== network) return;
    this.card.replaceChildren(...factsOf(card).map(([key, value]) => html("tr", {}, html("th", { scope: "row" }, key), html("td", {}, value.length > LONG ? html("details", {}, html("summary", {}, `${value.slice(0, 40)} …`), value) : value))));
    this.#show();
  }

  async #setFen() {
    const fen = this.fen.value.trim();
    if (await guarded(() => ask("position", { place: { fen } }))) {
      this.tree.reset(fen);
      this.#show();
    }
  }

  async #show() {
    const node = this.tree.at, name = this.network;
    const info = await guarded(() => this.tree.info(node));
    if (!info || this.tree.at !== node) return;
    this.fen.value = info.fen;
    this.board.arrows = [];
    this.board.show({ fen: info.fen, last: node.uci, moves: info.moves, check: info.check }, { slide: true, say: node.san });
    if (info.over) return this.value.replaceChildren(html("p", {}, `${info.over.result}, ${info.over.reason}`));
    const found = await guarded(() => ask("look", { place: this.tree.place(node), network: name }));
    if (!found || this.tree.at !== node || this.network !== name) return;
    this.bar.show(found.value, "", this.board.flipped);
    this.value.replaceChildren(html("p", { class: "facts" }, `value ${found.value.toFixed(3)} for White; wins, draws, losses per cent:`), wdlBar(found.wdl));
    showPolicy(this.policy, found.policy.slice(0, 16));
    this.board.arrows = found.policy.slice(0, 5).map(([uci, , share]) => ["G", uci.slice(0, 2), uci.slice(2, 4), 0.15 + 0.75 * share]);
  }
}

function factsOf(card) {
  if (!card) return [["", "built in: numbers, no network"]];
  const rows = [];
  const add = (prefix, facts) => {
    for (const [key, value] of Object.entries(facts)) {
      if (value && typeof value === "object" && !Array.isArray(value)) add(`${key} `, value);
      else if (value !== "" && value != null) rows.push([`${prefix}${key}`.replaceAll("_", " "), Array.isArray(value) ? value.join("; ") : typeof value === "number" ? whole(value) : String(value)]);
    }
  };
  add("", card);
  return rows;
}
