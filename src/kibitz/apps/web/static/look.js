// How the page looks, sounds and speaks: light or dark, board, pieces, sounds, language; the same in all tabs.

import { NAMES, html, svg } from "./board.js";
import { ask, connection } from "./connection.js";
import { choice, dialog, field } from "./widgets.js";

const STORE = "kibitz-look", THEME = "kibitz-theme"; // the second is the report's, too
const THEMES = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
const BOARDS = [["", "green"], ["brown", "brown"], ["blue", "blue"], ["contrast", "strong contrast"]];
const PIECES = [["", "classic"], ["plain", "plain"]];
const FOOT = "M11 38.5v-4h23v4z";
const PLAIN = { // outlines in a square of 45
  p: `M22.5 9a5.6 5.6 0 0 1 3.7 9.8c-.2 5.4 1.5 9.2 4.3 12.7h-16c2.8-3.5 4.5-7.3 4.3-12.7A5.6 5.6 0 0 1 22.5 9z ${FOOT}`,
  r: `M11.5 9h5v4h3.5V9h5v4h3.5V9h5v9.5l-4 3 1 10h-16l1-10-4-3z ${FOOT}`,
  n: `M14 31.5c0-8 6.5-10 7.5-14.5-3 0-5.5 3-8.5 3.5l-3.5-4C12 11 16 7.5 20.5 7l2-3.5 2.5 4c6 2.5 8.5 11 7.5 24z ${FOOT}`,
  b: `M22.5 5.5a3 3 0 0 1 2 5.3c4.8 3.7 7 7.7 6 12-.6 2.4-2.2 3.7-3 4.7l2 4h-14l2-4c-.8-1-2.4-2.3-3-4.7-1-4.3 1.2-8.3 6-12a3 3 0 0 1 2-5.3z M21.5 16v3h-3v2h3v5h2v-5h3v-2h-3v-3z ${FOOT}`,
  q: `M8 12l6 19.5h17L37 12l-7 8.5-2-12.5-5.5 11.5L17 8l-2 12.5z ${FOOT}`,
  k: `M21 4.5h3v3h3v3h-3v4.5c8.5-2.5 14 2 11.5 8-1.5 3.5-4 5-5 8.5h-16c-1-3.5-3.5-5-5-8.5-2.5-6 3-10.5 11.5-8v-4.5h-3v-3h3z ${FOOT}`,
};

function read() {
  try {
    return { ...JSON.parse(localStorage.getItem(STORE)), theme: localStorage.getItem(THEME) };
  } catch {
    return {};
  }
}

let look = read();
const classic = new Map();
let context = null;

function set(changes) {
  look = { ...look, ...changes };
  try {
    localStorage.setItem(STORE, JSON.stringify(look));
    if (look.theme) localStorage.setItem(THEME, look.theme);
    else localStorage.removeItem(THEME);
  } catch {
    // no storage: it holds until the page is closed
  }
  apply();
}

export function apply() {
  const { dataset } = document.documentElement;
  for (const [name, value] of [["theme", look.theme], ["board", look.board]]) value ? (dataset[name] = value) : delete dataset[name];
  connection.language = look.language ?? "";
  for (const kind of Object.keys(NAMES)) for (const letter of [kind, kind.toUpperCase()]) draw(letter);
}

/** Draw a piece anew where it is defined: all boards show it at once. */
function draw(letter) {
  const symbol = document.getElementById(`piece-${letter}`);
  if (!classic.has(letter)) classic.set(letter, [...symbol.childNodes]);
  const plain = () => svg("path", { d: PLAIN[letter.toLowerCase()], class: `plain-piece ${letter < "a" ? "white" : "black"}` });
  symbol.replaceChildren(...(look.pieces === "plain" ? [plain()] : classic.get(letter)));
}

/** The languages of comments; the server says which there are, and which is its own. */
function languages() {
  const words = choice("Language of comments", [["", "as the server is started"]], "", (language) => set({ language }));
  ask("hello").then(({ languages: all, language }) => {
    words.select.options[0].append(` (${all.find(([code]) => code === language)[1]})`);
    words.select.append(...all.map(([code, name]) => html("option", { value: code, selected: code === look.language }, name)));
  }, () => {});
  return words.element;
}

export function openLook() {
  const pick = (label, options, name) => choice(label, options, look[name] ?? "", (value) => set({ [name]: value })).element;
  const sounds = field("Sounds", { type: "checkbox", checked: Boolean(look.sounds) });
  sounds.input.addEventListener("change", () => (set({ sounds: sounds.input.checked }), sound("Nxe4")));
  return dialog("Appearance", [html("div", { class: "row" }, pick("Light or dark", THEMES, "theme"), pick("Board", BOARDS, "board"), pick("Pieces", PIECES, "pieces")), html("div", { class: "row" }, languages()), sounds.element], [["Close", true, "accent"]]);
}

// --- sounds: made here, none is loaded ----------------------------------------------------------

/** The sound of a move in SAN; off unless it is wished. */
export function sound(san) {
  if (!look.sounds || !san) return;
  context ??= new AudioContext();
  const tones = san.endsWith("#") ? [523, 392, 262] : san.endsWith("+") ? [660, 880] : san.includes("x") ? [180, 140] : [220];
  tones.forEach((pitch, number) => tone(pitch, context.currentTime + 0.09 * number));
}

function tone(pitch, at) {
  const source = context.createOscillator(), volume = context.createGain();
  source.type = "triangle";
  source.frequency.value = pitch;
  volume.gain.setValueAtTime(0.25, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + 0.12);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + 0.13);
}
