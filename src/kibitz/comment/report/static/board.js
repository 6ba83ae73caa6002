// A chess board as SVG: pieces, last move, arrows and coloured squares. The page has a symbol for every piece.

export const SIZE = 45; // of a square, as the pieces are drawn
export const NAMES = { k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn" };
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; texts are only ever texts. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null && child !== ""));
  return element;
}

/** The 64 squares of a FEN's first field, a1 first, each a letter or "". */
export function squaresOf(placement) {
  const squares = Array(64).fill("");
  placement.split("/").forEach((row, number) => {
    let file = 0;
    for (const letter of row) {
      if (/[1-8]/.test(letter)) file += Number(letter);
      else squares[8 * (7 - number) + file++] = letter;
    }
  });
  return squares;
}

/** "e4" as a number, a1 is 0. */
export const square = (name) => name.charCodeAt(0) - 97 + 8 * (Number(name[1]) - 1);

export const nameOf = (index) => "abcdefgh"[index % 8] + (1 + (index >> 3));

/** A position in words, for those who do not see it. */
export function spoken(placement, names = NAMES, white = "White", black = "Black") {
  const squares = squaresOf(placement);
  const side = (name, isOurs) => {
    const pieces = [..."kqrbnp"].flatMap((kind) =>
      squares.flatMap((letter, index) =>
        letter.toLowerCase() === kind && isOurs(letter) ? [`${names[kind]} ${nameOf(index)}`] : [],
      ),
    );
    return `${name}: ${pieces.join(", ")}`;
  };
  return `${side(white, (one) => one < "a")}. ${side(black, (one) => one > "Z")}.`;
}

/** Fill an <svg> with a position. `move` is "e2e4" or "", `marks` are [color, from, to], perhaps with an opacity. */
export function drawBoard(board, placement, { flipped = false, move = "", marks = [], moves = false } = {}) {
  const at = (index) => {
    const [file, rank] = [index % 8, index >> 3];
    return [SIZE * (flipped ? 7 - file : file), SIZE * (flipped ? rank : 7 - rank)];
  };
  const last = move ? [square(move), square(move.slice(2))] : [];
  const squares = [], names = [], pieces = [];
  for (let index = 0; index < 64; index++) {
    const [x, y] = at(index);
    const dark = (index + (index >> 3)) % 2 === 0;
    const kind = `${dark ? "dark" : "light"} ${last.includes(index) ? "last" : ""}`;
    squares.push(svg("rect", { x, y, width: SIZE, height: SIZE, class: `square ${kind}` }));
    if (x === 0) names.push(label(x + 2, y + 11, 1 + (index >> 3), dark));
    if (y === 7 * SIZE) names.push(label(x + SIZE - 2, y + SIZE - 3, "abcdefgh"[index % 8], dark));
  }
  squaresOf(placement).forEach((letter, index) => {
    if (!letter) return;
    const [x, y] = at(index);
    const piece = svg("use", { href: `#piece-${letter}`, transform: `translate(${x} ${y})`, "data-at": nameOf(index) });
    if (moves && index === last[1]) slide(piece, at(last[0]), [x, y]);
    pieces.push(piece);
  });
  const drawn = marks.map(([color, from, to, opacity]) => {
    const shape = mark(color, at(square(from)), at(square(to)));
    if (opacity != null) shape.style.opacity = opacity;
    return shape;
  });
  board.setAttribute("viewBox", `0 0 ${8 * SIZE} ${8 * SIZE}`);
  board.replaceChildren(...squares, ...pieces, ...names, ...drawn);
}

function label(x, y, text, dark) {
  const file = Number.isNaN(Number(text)); // at the right edge of its square
  return svg("text", { x, y, class: `name ${dark ? "on-dark" : "on-light"}`, "text-anchor": file ? "end" : "start" }, String(text));
}

function slide(piece, [fromX, fromY], [x, y]) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const places = [`translate(${fromX}px, ${fromY}px)`, `translate(${x}px, ${y}px)`];
  piece.animate({ transform: places }, { duration: 130, easing: "ease-out" });
}

/** An arrow, or a ring around a square if it begins where it ends. */
function mark(color, [x1, y1], [x2, y2]) {
  const half = SIZE / 2;
  if (x1 === x2 && y1 === y2) {
    return svg("circle", { cx: x1 + half, cy: y1 + half, r: half - 2, class: `ring mark-${color}` });
  }
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const point = (along, aside) =>
    [x1 + half + along * dx - aside * dy, y1 + half + along * dy + aside * dx].map((one) => one.toFixed(1)).join();
  const [neck, tip] = [length - 19, length - 4];
  const corners = [point(9, 3.2), point(neck, 3.2), point(neck, 9), point(tip, 0), point(neck, -9), point(neck, -3.2), point(9, -3.2)];
  return svg("polygon", { points: corners.join(" "), class: `arrow mark-${color}` });
}
