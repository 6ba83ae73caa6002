// The squares of a board as a grid for those who do not see it, and moves in words.

import { NAMES, html, nameOf, square } from "./board.js";

const FILES = [..."abcdefgh"], RANKS = [..."87654321"];
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
let boards = 0;

/** What stands on a square, in words. */
export const pieceText = (letter) => (letter ? `${letter < "a" ? "white" : "black"} ${NAMES[letter.toLowerCase()]}` : "empty");

/** A move in SAN as it is spoken: "knight takes e5, check". */
export function inWords(san) {
  const end = san.endsWith("#") ? ", checkmate" : san.endsWith("+") ? ", check" : "";
  const bare = san.replace(/[+#]/, "");
  if (bare.startsWith("O-O")) return `castles ${bare === "O-O" ? "short" : "long"}${end}`;
  const piece = NAMES[bare[0].toLowerCase()] && bare[0] < "a" ? `${NAMES[bare[0].toLowerCase()]} ` : "";
  const [way, promoted] = bare.slice(piece ? 1 : 0).split("=");
  const promotion = promoted ? `, promotes to ${NAMES[promoted.toLowerCase()]}` : "";
  return `${piece}${way.replace("x", " takes ")}${promotion}${end}`.trim().replace(/ +/g, " ");
}

export class Cells {
  constructor(label) {
    const board = ++boards;
    this.cells = new Map();
    const cell = (name) => {
      const element = html("div", { role: "gridcell", id: `board-${board}-${name}` });
      this.cells.set(name, element);
      return element;
    };
    const rows = RANKS.map((rank) => html("div", { role: "row" }, ...FILES.map((file) => cell(file + rank))));
    this.element = html("div", { class: "cells hidden-text", role: "grid", tabindex: 0, "aria-label": label }, ...rows);
  }

  /** The square that an arrow key leads to, from White's side or Black's; "" if it is no arrow. */
  step(cursor, key, flipped = false) {
    const [x, y] = STEPS[key] ?? [];
    if (x === undefined) return "";
    if (!cursor) return flipped ? "e7" : "e2";
    const clamp = (one) => Math.max(0, Math.min(7, one)), turn = flipped ? -1 : 1, now = square(cursor);
    return nameOf(clamp((now % 8) + turn * x) + 8 * clamp((now >> 3) + turn * y));
  }

  show(letters, chosen, cursor) {
    for (const [index, letter] of letters.entries()) {
      const name = nameOf(index), cell = this.cells.get(name), text = `${name} ${pieceText(letter)}`;
      if (cell.textContent !== text) cell.textContent = text;
      cell.setAttribute("aria-selected", String(name === chosen));
    }
    if (cursor) this.element.setAttribute("aria-activedescendant", this.cells.get(cursor).id);
    else this.element.removeAttribute("aria-activedescendant");
  }
}
