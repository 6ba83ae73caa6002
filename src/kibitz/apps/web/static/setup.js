// Setting up a position: put pieces down by clicks, choose who moves and may castle; the server says whether it is legal.

import { SIZE, drawBoard, html, nameOf, spoken, square, squaresOf, svg } from "./board.js";
import { Cells, pieceText } from "./cells.js";
import { ask } from "./connection.js";
import { START } from "./tree.js";
import { button, choice, field } from "./widgets.js";

const PIECES = [..."KQRBNP", "", ..."kqrbnp"]; // "" removes

function placementOf(squares) {
  const rows = [];
  for (let rank = 7; rank >= 0; rank--) {
    const row = squares.slice(8 * rank, 8 * rank + 8).map((letter) => letter || "1").join("");
    rows.push(row.replace(/1+/g, (ones) => ones.length));
  }
  return rows.join("/");
}

/** Let a position be made; its FEN, or null. */
export function setUp(fen) {
  const [placement, side, castling] = fen.split(" ");
  let squares = squaresOf(placement), hand = "K", cursor = "";
  const board = svg("svg", { class: "squares", viewBox: "0 0 360 360", role: "img" });
  const cells = new Cells("Board. Arrow keys go from square to square, Enter puts the piece down or takes it away, its letter takes another.");
  const turn = choice("To move", [["w", "White"], ["b", "Black"]], side);
  const rights = [["K", "White O-O"], ["Q", "White O-O-O"], ["k", "Black O-O"], ["q", "Black O-O-O"]].map(([letter, text]) => [letter, field(text, { type: "checkbox", checked: castling.includes(letter) })]);
  const message = html("p", { class: "message", role: "status", hidden: true });
  const draw = () => {
    drawBoard(board, placementOf(squares));
    board.setAttribute("aria-label", spoken(placementOf(squares)));
    cells.show(squares, "", cursor);
    if (cursor) board.append(svg("rect", { x: SIZE * (square(cursor) % 8), y: SIZE * (7 - (square(cursor) >> 3)), width: SIZE, height: SIZE, class: "cursor-square" }));
    palette.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", one.dataset.piece === hand));
  };
  const pick = (letter) => () => ((hand = letter), draw());
  const picture = (letter) => svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}` }, letter ? svg("use", { href: `#piece-${letter}` }) : svg("path", { d: "M13 13 L32 32 M32 13 L13 32", class: "cross" }));
  const palette = html("div", { class: "palette", role: "toolbar", "aria-label": "Pieces" }, ...PIECES.map((letter) => html("button", { type: "button", "data-piece": letter, "aria-label": letter ? pieceText(letter) : "nothing", onclick: pick(letter) }, picture(letter))));
  const put = (index, letter) => {
    squares[index] = squares[index] === letter ? "" : letter;
    draw();
    message.hidden = true;
    board.setAttribute("data-last", nameOf(index));
  };
  board.addEventListener("pointerdown", (event) => {
    const box = board.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((one) => Math.max(0, Math.min(7, Math.floor((8 * one) / box.width))));
    put(x + 8 * (7 - y), event.button === 2 ? "" : hand);
  });
  cells.element.addEventListener("keydown", (event) => {
    const next = cells.step(cursor, event.key);
    if (next) cursor = next;
    else if (cursor && (event.key === "Enter" || event.key === " ")) put(square(cursor), hand);
    else if (event.key.length === 1 && PIECES.includes(event.key)) hand = event.key;
    else return;
    event.preventDefault();
    draw();
  });
  cells.element.addEventListener("blur", () => ((cursor = ""), draw()));
  board.addEventListener("contextmenu", (event) => event.preventDefault());
  return new Promise((resolve) => {
    const end = (value) => (element.close(), resolve(value));
    const use = async () => {
      const may = rights.map(([letter, one]) => (one.input.checked ? letter : "")).join("") || "-";
      const made = `${placementOf(squares)} ${turn.value} ${may} - 0 1`;
      try {
        await ask("position", { place: { fen: made } });
        end(made);
      } catch (error) {
        message.textContent = error.message;
        message.hidden = false;
      }
    };
    const fill = (text) => () => ((squares = squaresOf(text)), draw());
    const element = html("dialog", { class: "setup", "aria-label": "Set up a position" }, html("h2", {}, "Set up a position"), palette, html("div", { class: "field-of-play" }, board, cells.element), html("div", { class: "row" }, turn.element, ...rights.map(([, one]) => one.element)), message, html("div", { class: "row" }, button("Use it", use, { class: "accent" }), button("Start position", fill(START.split(" ")[0])), button("Empty", fill("8/8/8/8/8/8/8/8")), button("Cancel", () => end(null))));
    element.addEventListener("close", () => (element.remove(), resolve(null)));
    document.body.append(element);
    draw();
    element.showModal();
  });
}
