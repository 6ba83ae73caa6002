// The board to move on: drag, click, touch, keys; promotion, legal targets, arrows of one's own, words for those who cannot see it.

import { SIZE, drawBoard, html, nameOf, spoken, square, squaresOf, svg } from "./board.js";
import { Cells, inWords, pieceText } from "./cells.js";
import { sound } from "./look.js";
import { button } from "./widgets.js";

const NEAR = 4; // pixels a pointer may move in a click
const COLORS = { none: "G", shift: "R", alt: "B", both: "Y" };
const PROMOTIONS = { q: "queen", r: "rook", b: "bishop", n: "knight" };

export class PlayBoard {
  flipped = false;
  #place = { fen: "8/8/8/8/8/8/8/8 w - - 0 1", moves: [], last: "", check: "", free: "", ahead: "" };
  #marks = []; // drawn by hand
  #arrows = []; // of engines
  #chosen = null;
  #cursor = null;
  #drag = null;
  #drawing = null;
  #preview = null;
  #waits = false; // a typed move
  #premove = null; // [from, to], to be made when it is one's turn

  constructor({ onMove }) {
    this.onMove = onMove;
    this.svg = svg("svg", { class: "squares", viewBox: "0 0 360 360", role: "img", "aria-label": "Board" });
    this.overlay = html("div", { class: "promotion", role: "dialog", "aria-label": "Promote to", hidden: true });
    this.input = html("input", { class: "typed", type: "text", placeholder: "Type a move: Nf3", "aria-label": "Type a move, Nf3 or g1f3", autocomplete: "off", spellcheck: "false" });
    this.live = html("p", { class: "hidden-text", "aria-live": "polite" });
    this.cells = new Cells("Board. Arrow keys go from square to square, Enter picks a piece up and puts it down.");
    this.field = html("div", { class: "field-of-play" }, this.svg, this.cells.element, this.overlay);
    this.element = html("div", { class: "playboard" }, this.field, this.live);
    this.svg.addEventListener("pointerdown", (event) => this.#down(event));
    this.svg.addEventListener("pointermove", (event) => this.#move(event));
    this.svg.addEventListener("pointerup", (event) => this.#up(event));
    this.svg.addEventListener("pointercancel", () => this.#release());
    this.svg.addEventListener("contextmenu", (event) => event.preventDefault());
    this.cells.element.addEventListener("keydown", (event) => this.#key(event));
    this.cells.element.addEventListener("blur", () => (this.#cursor = null, this.#draw()));
    this.input.addEventListener("keydown", (event) => event.key === "Enter" && this.#typed());
  }

  /** Show a position: fen, legal moves [[uci, san]], last move, check, who may move ("w", "b", "wb", ""), and who ahead of time. */
  show(place, { slide = false, say = "" } = {}) {
    const other = place.fen !== this.#place.fen;
    this.#place = { moves: [], last: "", check: "", free: "wb", ahead: "", ...place };
    if (!this.#place.ahead) this.#premove = null;
    this.#preview = null;
    if (other) {
      this.#chosen = null;
      this.#marks = [];
      this.#close();
      this.#release(false);
    }
    this.#draw(slide && other);
    if (this.#waits && this.#place.moves.length) this.#typed();
    if (say) this.live.textContent = inWords(say);
    if (say && other) sound(say);
    if (this.#premove && !this.#isAhead && this.#place.moves.length) this.#playAhead();
  }

  get fen() {
    return this.#place.fen;
  }

  /** Arrows and rings drawn by hand. */
  get marks() {
    return this.#marks;
  }

  set arrows(marks) {
    this.#arrows = marks;
    if (!this.#drag) this.#draw();
  }

  /** Show another board for a while, for lines that are hovered over; null ends it. */
  preview(placement, last = "") {
    this.#preview = placement ? { placement, last } : null;
    this.#draw();
  }

  flip() {
    this.flipped = !this.flipped;
    this.#draw();
  }

  // --- what is legal ---------------------------------------------------------------------------

  get #turn() {
    return this.#place.fen.split(" ")[1];
  }

  #from(origin) {
    if (!this.#place.free.includes(this.#turn)) return [];
    return this.#place.moves.filter(([uci]) => uci.startsWith(origin));
  }

  /** Squares on which a move may be dropped: castling goes by the king's square and by the rook's. */
  #ends([uci, san]) {
    const end = uci.slice(2, 4);
    if (!san.startsWith("O-O")) return [end];
    const rank = uci[1], king = (san.startsWith("O-O-O") ? "c" : "g") + rank;
    const rook = this.#rook(uci, rank);
    return [end, king, rook].filter((one, index, all) => one && one !== uci.slice(0, 2) && all.indexOf(one) === index);
  }

  #rook(uci, rank) {
    const letters = squaresOf(this.#place.fen.split(" ")[0]);
    const end = uci.slice(2, 4);
    if (/r/i.test(letters[square(end)])) return end;
    const step = end[0] > uci[0] ? 1 : -1;
    for (let file = uci.charCodeAt(0) - 97 + step; file >= 0 && file < 8; file += step) {
      const name = "abcdefgh"[file] + rank;
      if (/r/i.test(letters[square(name)])) return name;
    }
    return "";
  }

  // --- moves ahead of one's turn ---------------------------------------------------------------

  /** Whether a move now is one for the next turn. */
  get #isAhead() {
    return Boolean(this.#place.ahead) && this.#turn !== this.#place.ahead;
  }

  #mayLift(name) {
    if (!this.#isAhead) return this.#from(name).length > 0;
    const letter = squaresOf(this.#place.fen.split(" ")[0])[square(name)];
    return letter && (letter < "a") === (this.#place.ahead === "w");
  }

  /** Make the move that was meant, if it is legal now; a pawn becomes a queen. */
  #playAhead() {
    const [origin, end] = this.#premove;
    this.#premove = null;
    const moves = this.#from(origin).filter((move) => this.#ends(move).includes(end));
    const move = moves.find(([uci]) => uci[4] === "q") ?? moves[0];
    if (move) setTimeout(() => this.onMove(...move)); // the position is shown first
    else this.#draw();
  }

  #play(origin, end) {
    if (this.#isAhead) {
      this.#premove = [origin, end];
      this.#chosen = null;
      this.live.textContent = `${origin} to ${end} as soon as it is your turn`;
      return true;
    }
    const found = this.#from(origin).filter((move) => this.#ends(move).includes(end));
    if (!found.length) return false;
    const plain = found.filter(([uci]) => uci.slice(2, 4) === end);
    const best = plain.length ? plain : found;
    this.#chosen = null;
    if (best.length > 1) this.#promote(best, end);
    else this.onMove(...best[0]);
    return true;
  }

  #promote(moves, end) {
    const white = this.#turn === "w";
    const [file, rank] = [square(end) % 8, square(end) >> 3];
    let touched = false; // a tap that makes the move ends in a click on what has come up under the finger
    this.overlay.onpointerdown = () => (touched = true);
    const before = document.activeElement;
    const choose = (move) => (this.#close(), before?.focus(), move && this.onMove(...move), this.#draw());
    const buttons = moves
      .map((move) => [move[0][4], move])
      .sort(([a], [b]) => "qnrb".indexOf(a) - "qnrb".indexOf(b))
      .map(([letter, move]) => {
        const picture = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}` }, svg("use", { href: `#piece-${white ? letter.toUpperCase() : letter}` }));
        return html("button", { type: "button", "aria-label": PROMOTIONS[letter], "data-piece": letter, onclick: (event) => (touched || event.detail === 0) && choose(move) }, picture);
      });
    this.overlay.replaceChildren(...buttons);
    this.overlay.style.left = `${12.5 * (this.flipped ? 7 - file : file)}%`;
    const atTop = (rank === 7) !== this.flipped;
    this.overlay.style.top = atTop ? "0" : "50%";
    this.overlay.classList.toggle("upwards", !atTop);
    this.overlay.hidden = false;
    this.overlay.onkeydown = (event) => event.key === "Escape" && (event.stopPropagation(), choose(null));
    buttons[0].focus();
  }

  #close() {
    this.overlay.hidden = true;
  }

  // --- pointers --------------------------------------------------------------------------------

  #at(event) {
    const box = this.svg.getBoundingClientRect();
    const x = Math.floor((8 * (event.clientX - box.left)) / box.width);
    const y = Math.floor((8 * (event.clientY - box.top)) / box.height);
    if (x < 0 || x > 7 || y < 0 || y > 7) return null;
    return nameOf(this.flipped ? 7 - x + 8 * y : x + 8 * (7 - y));
  }

  #down(event) {
    const here = this.#at(event);
    if (!here || !this.overlay.hidden) return this.#close();
    event.preventDefault();
    if (this.#premove) (this.#premove = null, this.#draw()); // any press takes it back
    if (event.button === 2) {
      const color = COLORS[event.shiftKey && event.altKey ? "both" : event.shiftKey ? "shift" : event.altKey ? "alt" : "none"];
      this.#drawing = { from: here, color };
      return this.svg.setPointerCapture(event.pointerId);
    }
    if (event.button !== 0) return undefined;
    if (this.#marks.length) this.#marks = [];
    const before = this.#chosen;
    if (before && before !== here && this.#play(before, here)) return this.#draw();
    this.#chosen = this.#mayLift(here) ? here : null;
    this.#draw();
    if (!this.#chosen) return undefined;
    this.svg.setPointerCapture(event.pointerId);
    const piece = this.svg.querySelector(`use[data-at="${here}"]`);
    this.#drag = { from: here, x: event.clientX, y: event.clientY, piece, moved: false, again: before === here };
    return undefined;
  }

  #move(event) {
    if (this.#drawing) {
      const to = this.#at(event);
      if (to && to !== this.#drawing.to) (this.#drawing.to = to, this.#draw());
    }
    const drag = this.#drag;
    if (!drag) return;
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < NEAR) return;
    if (!drag.moved) {
      drag.moved = true;
      drag.ghost = drag.piece.cloneNode();
      drag.ghost.classList.add("ghost");
      drag.piece.classList.add("lifted");
      this.svg.append(drag.ghost);
    }
    const box = this.svg.getBoundingClientRect();
    const scale = (8 * SIZE) / box.width;
    const x = (event.clientX - box.left) * scale - SIZE / 2, y = (event.clientY - box.top) * scale - SIZE / 2;
    drag.ghost.setAttribute("transform", `translate(${x} ${y})`);
    const over = this.#at(event);
    if (over !== drag.over) {
      drag.over = over;
      this.#hover.setAttribute("visibility", over ? "visible" : "hidden");
      if (over) this.#put(this.#hover, over);
    }
  }

  #up(event) {
    const here = this.#at(event);
    if (this.#drawing) return this.#drawn(here);
    const drag = this.#drag;
    if (!drag) return undefined;
    this.#release(false);
    if (drag.moved) {
      const played = here && here !== drag.from && this.#play(drag.from, here);
      if (!played) this.#chosen = null;
    } else if (drag.again) {
      this.#chosen = null;
    }
    return this.#draw();
  }

  #release(draw = true) {
    this.#drag?.ghost?.remove();
    this.#drag = this.#drawing = null;
    if (draw) this.#draw();
  }

  #drawn(here) {
    const { from, color } = this.#drawing;
    this.#drawing = null;
    const to = here ?? from;
    const same = this.#marks.filter(([, a, b]) => a === from && b === to);
    this.#marks = this.#marks.filter((one) => !same.includes(one));
    if (!same.length || same[0][0] !== color) this.#marks.push([color, from, to]);
    this.#draw();
  }

  // --- keys ------------------------------------------------------------------------------------

  #key(event) {
    if (event.ctrlKey || event.metaKey) return;
    const next = this.cells.step(this.#cursor, event.key, this.flipped);
    if (next) {
      this.#cursor = next;
      const letter = squaresOf(this.#place.fen.split(" ")[0])[square(next)];
      this.live.textContent = `${next}, ${pieceText(letter)}`;
    } else if ((event.key === "Enter" || event.key === " ") && this.#cursor) {
      const here = this.#cursor;
      if (!(this.#chosen && this.#chosen !== here && this.#play(this.#chosen, here))) {
        this.#chosen = this.#chosen !== here && this.#mayLift(here) ? here : null;
        this.live.textContent = this.#chosen ? `${here} picked up` : "nothing picked up";
      }
    } else if (event.key === "Escape") {
      this.#chosen = this.#premove = null;
    } else if (/^[a-hNBRQKO]$/.test(event.key)) {
      this.input.value = "";
      return this.input.focus(); // the letter goes there
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.#draw();
  }

  #typed() {
    const plain = (text) => text.replace(/[+#x=!?\s-]/g, "").replace(/0/g, "O");
    const text = plain(this.input.value);
    if (!text) return;
    const moves = this.#place.free.includes(this.#turn) ? this.#place.moves : [];
    this.#waits = !this.#place.moves.length; // what is legal is still on its way
    if (this.#waits) return;
    const exact = moves.filter(([uci, san]) => plain(san) === text || uci === text.toLowerCase());
    const found = exact.length ? exact : moves.filter(([, san]) => plain(san).toLowerCase() === text.toLowerCase());
    this.input.setCustomValidity(found.length === 1 ? "" : `${this.input.value} is no legal move here`);
    if (found.length !== 1) {
      this.input.reportValidity();
      return;
    }
    this.input.value = "";
    this.onMove(...found[0]);
  }

  // --- drawing ---------------------------------------------------------------------------------

  #hover = svg("rect", { width: SIZE, height: SIZE, class: "hover", visibility: "hidden" });

  #put(shape, name) {
    const index = square(name), [file, rank] = [index % 8, index >> 3];
    const [x, y] = [SIZE * (this.flipped ? 7 - file : file), SIZE * (this.flipped ? rank : 7 - rank)];
    shape.setAttribute(shape.tagName === "circle" ? "cx" : "x", shape.tagName === "circle" ? x + SIZE / 2 : x);
    shape.setAttribute(shape.tagName === "circle" ? "cy" : "y", shape.tagName === "circle" ? y + SIZE / 2 : y);
    return shape;
  }

  #draw(slide = false) {
    const place = this.#place, placement = this.#preview?.placement ?? place.fen.split(" ")[0];
    const own = this.#drawing?.to ? [[this.#drawing.color, this.#drawing.from, this.#drawing.to]] : [];
    const marks = this.#preview ? [] : [...this.#arrows, ...this.#marks, ...own];
    const last = this.#preview ? this.#preview.last : place.last;
    drawBoard(this.svg, placement, { flipped: this.flipped, move: last.slice(0, 4), marks, moves: slide });
    this.svg.classList.toggle("previewed", Boolean(this.#preview));
    this.svg.setAttribute("aria-label", `${spoken(placement)} ${this.#turn === "w" ? "White" : "Black"} to move.`);
    this.cells.show(squaresOf(placement), this.#chosen, this.#cursor);
    if (this.#preview) return;
    const under = [];
    if (place.check) under.push(this.#put(svg("rect", { width: SIZE, height: SIZE, class: "in-check" }), place.check));
    if (this.#chosen) under.push(this.#put(svg("rect", { width: SIZE, height: SIZE, class: "chosen" }), this.#chosen));
    for (const name of this.#premove ?? []) under.push(this.#put(svg("rect", { width: SIZE, height: SIZE, class: "premove" }), name));
    under.push(this.#hover);
    const first = this.svg.querySelector("use");
    if (first) first.before(...under);
    else this.svg.append(...under);
    this.#hover.setAttribute("visibility", "hidden");
    const letters = squaresOf(placement);
    const ends = this.#chosen ? new Set(this.#from(this.#chosen).flatMap((move) => this.#ends(move))) : [];
    for (const end of ends) {
      const taken = letters[square(end)];
      this.svg.append(this.#put(svg("circle", { r: taken ? SIZE / 2 - 3 : 7, class: taken ? "target taken" : "target" }), end));
    }
    if (this.#cursor) this.svg.append(this.#put(svg("rect", { width: SIZE, height: SIZE, class: "cursor-square" }), this.#cursor));
  }
}

/** The buttons that go with a board. */
export const flipButton = (board, also = () => {}) => button("Flip", () => (board.flip(), also()), { "aria-label": "Flip the board", title: "Flip the board (f)" });
