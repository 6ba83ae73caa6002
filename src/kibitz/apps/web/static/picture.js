// A position as a picture, and a game as an animated one: drawn and written here, without the server.

import { drawBoard, html, svg } from "./board.js";
import { choice, dialog, save } from "./widgets.js";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap", "fill-rule", "opacity"];
const LETTERS = ["font-family", "font-size", "font-weight", "paint-order"];
const LARGE = 960, SMALL = 480; // pixels of a side, of a picture and of an animation
const SAMPLES = 8; // frames whose colours are those of an animation
const LAST = 3; // times as long as the others the last frame is shown
const SPEEDS = [[0.5, "half a second"], [1, "1 second"], [2, "2 seconds"]];

/** A board that stands for itself: what styles say of it is in its attributes, its pieces are in it. */
function standalone(node, flipped, marks = []) {
  const board = svg("svg", { class: "squares", width: LARGE, height: LARGE });
  const place = html("div", { class: "hidden-text" }, board);
  document.body.append(place); // styles hold in the page only
  drawBoard(board, node.fen.split(" ")[0], { flipped, move: node.uci.slice(0, 4), marks });
  const pieces = new Set([...board.querySelectorAll("use")].map((one) => one.getAttribute("href").slice(1)));
  const originals = [board, ...[...pieces].map((name) => document.getElementById(name))];
  const [copy, ...copies] = originals.map(styled);
  place.remove();
  copy.prepend(svg("defs", {}, ...copies));
  return new XMLSerializer().serializeToString(copy);
}

/** A copy with the styles that hold for it as attributes. */
function styled(original) {
  const copy = original.cloneNode(true);
  const [from, to] = [original, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  for (const [number, one] of to.entries()) {
    if (one.tagName === "use") continue; // what it stands for has styles of its own
    const style = getComputedStyle(from[number]);
    for (const name of one.tagName === "text" ? [...STYLES, ...LETTERS] : STYLES) one.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "data-at"]) one.removeAttribute(name);
  }
  return copy;
}

/** Draw a picture's text into a canvas. */
async function drawn(text, size) {
  const image = new Image(size, size);
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = html("canvas", { width: size, height: size });
  canvas.getContext("2d", { willReadFrequently: true }).drawImage(image, 0, 0, size, size);
  return canvas;
}

const png = async (text) => new Promise((done) => drawn(text, LARGE).then((canvas) => canvas.toBlob(done)));

async function pixels(node, flipped) {
  const canvas = await drawn(standalone(node, flipped), SMALL);
  return new Uint32Array(canvas.getContext("2d").getImageData(0, 0, SMALL, SMALL).data.buffer);
}

/** A line of nodes, each a frame; `on` gets how many are done, and says whether to go on. */
async function animation(nodes, flipped, seconds, on) {
  const { Gif, paletteOf } = await import("./gif.js");
  const step = Math.ceil(nodes.length / SAMPLES), samples = [];
  for (let at = 0; at < nodes.length; at += step) samples.push(await pixels(nodes[at], flipped));
  const gif = new Gif(SMALL, paletteOf(samples));
  for (const [number, node] of nodes.entries()) {
    if (!on(number)) return null;
    gif.add(await pixels(node, flipped), number === nodes.length - 1 ? LAST * seconds : seconds);
  }
  return gif.blob();
}

async function saveAnimation(nodes, flipped, seconds) {
  const bar = html("progress", { max: nodes.length, value: 0, "aria-label": "Positions that are drawn" });
  let going = true;
  const asked = dialog("Drawing the game", [bar], [["Stop", null]]).then(() => (going = false));
  const blob = await animation(nodes, flipped, seconds, (done) => ((bar.value = done), going)).finally(() => bar.closest("dialog")?.close());
  await asked;
  if (blob) save("kibitz.gif", blob);
}

/** Offer the position of a tree as a picture, and its moves as an animation. */
export async function sharePicture(tree, { flipped, marks }) {
  const here = [tree.root, ...tree.path()], game = [...here];
  while (game.at(-1).children.length) game.push(game.at(-1).children[0]);
  const speed = choice("Each move is shown for", SPEEDS, 1);
  const moves = game.length > 1, later = game.length > here.length;
  const kinds = [["Position as PNG", "png", "accent"], ["as SVG", "svg"], moves && ["Game as GIF", game], moves && later && here.length > 1 && ["GIF up to here", here], ["Cancel", null]];
  const kind = await dialog("Save a picture", moves ? [speed.element] : [], kinds.filter(Boolean));
  if (Array.isArray(kind)) return saveAnimation(kind, flipped, Number(speed.value));
  const text = kind && standalone(tree.at, flipped, marks);
  if (kind === "svg") save("kibitz.svg", new Blob([text], { type: "image/svg+xml" }));
  if (kind === "png") save("kibitz.png", await png(text));
  return undefined;
}
