// A game with variations: the moves, where one is, and the list of moves on the page.

import { html } from "./board.js";
import { SHARED, ask } from "./connection.js";

export const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
export const FAULTS = { 6: "inaccuracy", 2: "mistake", 4: "blunder" };

let made = 0;

const newNode = (fields) => ({ id: ++made, children: [], nags: [], comment: "", eval: null, value: null, info: null, ...fields });

/** Who moves next, by a FEN, and the number of the move. */
export const turnOf = (fen) => fen.split(" ")[1];
export const numberOf = (fen) => Number(fen.split(" ")[5] ?? 1);

const CUT = "This address holds no position that can be read: was it cut?";

/** What an address of a position says. */
export function decoded(address) {
  try {
    return decodeURIComponent(address);
  } catch {
    throw new Error(CUT);
  }
}

export class Tree extends EventTarget {
  /** The first node with a position; undefined if there is none. */
  find(fen) {
    const nodes = [this.root];
    for (const node of nodes) nodes.push(...node.children);
    return nodes.find((node) => node.fen === fen);
  }

  constructor(fen = START, { chess960 = false, tags = {} } = {}) {
    super();
    this.reset(fen, { chess960, tags });
  }

  reset(fen, { chess960 = false, tags = {} } = {}) {
    this.root = newNode({ fen, uci: "", san: "", parent: null });
    Object.assign(this, { at: this.root, chess960, tags, reviewed: false, saved: null });
  }

  /** Take a game of the server: a list of moves with the number of the one before. */
  load(game) {
    this.reset(game.fen, game);
    Object.assign(this.root, { comment: game.comment, eval: game.eval });
    const nodes = [];
    for (const one of game.nodes) {
      const parent = one.parent < 0 ? this.root : nodes[one.parent];
      const node = newNode({ ...one, parent });
      parent.children.push(node);
      nodes.push(node);
    }
    const main = this.main();
    for (const ply of game.keys ?? []) main[ply + 1].key = true;
    this.reviewed = Boolean(game.keys || game.reviewed);
    this.saved = game.saved ?? null; // by what it is known among the saved games
    this.at = nodes[game.at] ?? this.root;
    this.changed();
  }

  /** The moves from the start to a node. */
  path(node = this.at) {
    const found = [];
    for (let one = node; one.parent; one = one.parent) found.unshift(one);
    return found;
  }

  /** The game's own moves, the start first. */
  main() {
    const found = [this.root];
    for (let one = this.root; one.children.length; ) found.push((one = one.children[0]));
    return found;
  }

  onMain(node) {
    return this.path(node).every((one) => one.parent.children[0] === one);
  }

  place(node = this.at) {
    return { fen: this.root.fen, moves: this.path(node).map((one) => one.uci), chess960: this.chess960 };
  }

  /** Legal moves, check and end of a position; asked for once. */
  async info(node = this.at) {
    node.info ??= await ask("position", { place: this.place(node) });
    node.fen = node.info.fen;
    return node.info;
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  go(node) {
    if (!node || node === this.at) return;
    this.at = node;
    this.dispatchEvent(new Event("go"));
  }

  /** Play a move after a node, or go to it if it is there. */
  async play(uci, san = "") {
    let node = this.at.children.find((one) => one.uci === uci);
    if (!node) {
      const parent = this.at;
      const info = await ask("position", { place: { ...this.place(), moves: [...this.place().moves, uci] } });
      const name = san || (await this.info(parent)).moves.find(([one]) => one === uci)?.[1] || uci;
      node = parent.children.find((one) => one.uci === uci);
      if (!node) {
        node = newNode({ uci, san: name, fen: info.fen, parent, info });
        parent.children.push(node);
        this.changed();
      }
    }
    this.go(node);
    return node;
  }

  remove(node) {
    const { parent } = node;
    if (!parent) return;
    parent.children = parent.children.filter((one) => one !== node);
    if (this.path().includes(node)) this.go(parent);
    this.changed();
  }

  promote(node) {
    for (let one = node; one.parent; one = one.parent) {
      const line = one.parent.children;
      line.unshift(line.splice(line.indexOf(one), 1)[0]);
    }
    this.changed();
  }

  next = () => this.go(this.at.children[0]);
  back = () => this.go(this.at.parent);
  first = () => this.go(this.root);

  last = () => {
    let one = this.at;
    while (one.children.length) one = one.children[0];
    this.go(one);
  };

  /** Change to another move in the same position. */
  turn(step) {
    const line = this.at.parent?.children ?? [];
    if (line.length > 1) this.go(line[(line.indexOf(this.at) + step + line.length) % line.length]);
  }

  /** The nodes in the order of a PGN, each with the number of the one before it. */
  #listed() {
    const listed = [], numbers = new Map([[this.root, -1]]), waiting = [...this.root.children].reverse();
    while (waiting.length) {
      const node = waiting.pop();
      numbers.set(node, listed.length);
      listed.push({ node, parent: numbers.get(node.parent) });
      waiting.push(...[...node.children].reverse());
    }
    return listed;
  }

  /** All of the tree, and where one is in it, as load() takes it. */
  kept() {
    const listed = this.#listed(), { root, tags, chess960 } = this;
    const plain = ({ node, parent }) => Object.fromEntries([["parent", parent], ...["uci", "san", "fen", "nags", "comment", "eval", "value", "key"].map((key) => [key, node[key]])]);
    return { fen: root.fen, chess960, tags, comment: root.comment, eval: root.eval, reviewed: this.reviewed, saved: this.saved, nodes: listed.map(plain), at: listed.findIndex(({ node }) => node === this.at) };
  }

  /** The tree as the server writes PGN. */
  async pgn() {
    const nodes = this.#listed().map(({ node: { uci, comment, nags }, parent }) => ({ parent, uci, comment, nags }));
    const place = { fen: this.root.fen, chess960: this.chess960 };
    return ask("write", { place, tags: this.tags, nodes, comment: this.root.comment });
  }

  numberText(node, fresh) {
    const before = node.parent.fen;
    if (turnOf(before) === "w") return `${numberOf(before)}.`;
    return fresh ? `${numberOf(before)}…` : "";
  }
}

/** The list of moves: variations are indented, comments stand beneath their moves. */
export class MoveList {
  constructor(tree) {
    this.tree = tree;
    this.element = html("div", { class: "moves", role: "navigation", "aria-label": "Moves" });
    tree.addEventListener("change", () => this.draw());
    tree.addEventListener("go", () => this.mark());
    this.draw();
  }

  draw() {
    const line = html("div", { class: "mainline" });
    if (this.tree.root.comment) line.append(html("p", { class: "comment" }, this.tree.root.comment));
    this.#line(line, this.tree.root, true);
    if (this.tree.tags.Result && this.tree.tags.Result !== "*") line.append(html("b", { class: "result" }, this.tree.tags.Result.replace("1/2-1/2", "½–½")));
    const empty = html("p", { class: "soft" }, this.tree.tags.Result && this.tree.tags.Result !== "*" ? "No moves were made." : "No moves yet. Move a piece, or type a move.");
    this.element.replaceChildren(this.tree.root.children.length ? line : empty);
    this.mark();
  }

  /** Write a line from a node on; its variations come after the move they replace. */
  #line(place, node, fresh) {
    for (let parent = node; parent.children.length; ) {
      const [main, ...others] = parent.children;
      this.#move(place, main, fresh);
      fresh = Boolean(main.comment) || others.length > 0;
      for (const one of others) {
        const variation = html("div", { class: "variation" });
        this.#move(variation, one, true);
        this.#line(variation, one, Boolean(one.comment));
        place.append(variation);
      }
      parent = main;
    }
  }

  #move(place, node, fresh) {
    const fault = node.nags.map((nag) => FAULTS[nag]).find(Boolean) ?? "";
    const glyph = node.nags.map((nag) => SHARED.symbols[nag] ?? "").join("");
    const number = this.tree.numberText(node, fresh);
    const go = () => this.tree.go(node);
    const label = `${this.tree.numberText(node, true)} ${node.san}${fault ? `, ${fault}` : ""}`;
    place.append(
      html("button", { type: "button", class: `move ${fault}`, "data-node": node.id, "aria-label": label, onclick: go }, number ? html("span", { class: "number" }, number) : "", node.san, glyph),
      " ",
    );
    if (node.comment) place.append(html("p", { class: "comment" }, node.comment));
  }

  mark() {
    for (const one of this.element.querySelectorAll("[aria-current]")) one.removeAttribute("aria-current");
    const here = this.element.querySelector(`[data-node="${this.tree.at.id}"]`);
    if (!here) {
      this.element.scrollTop = 0;
      return;
    }
    here.setAttribute("aria-current", "true");
    const [outer, inner] = [this.element.getBoundingClientRect(), here.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) this.element.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}

