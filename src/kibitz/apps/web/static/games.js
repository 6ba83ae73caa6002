// Games that this browser has saved: each is kept by itself from its first move on, for all tabs.

import { html } from "./board.js";
import { button, toast } from "./widgets.js";

const PREFIX = "kibitz-saved-";
const FULL = "The browser has no room left to save games: delete some of the saved games, or save them as PGN.";
const TITLE_PLIES = 8;
let told = false; // that there is no room

const fresh = () => Math.random().toString(36).slice(2);

function entryOf(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // not ours, or no storage is allowed
  }
}

function titleOf(tree) {
  const { White, Black, Result, Date: date } = tree.tags;
  const bare = (text) => (/^[?.\s*-]*$/.test(text ?? "") ? "" : text);
  const moves = tree.main().slice(1, TITLE_PLIES + 1).map((node) => tree.numberText(node, node.parent === tree.root) + node.san).join(" ");
  return bare(White) || bare(Black) ? [`${White} – ${Black}`, bare(Result), bare(date)].filter(Boolean).join(" · ") : moves;
}

/** Save a game that has moves; one that another tab has changed meanwhile becomes a game of its own. */
export function saveGame(tree) {
  if (!tree.root.children.length) return;
  const before = tree.saved && entryOf(PREFIX + tree.saved.id);
  const own = tree.saved && (!before || before.game.saved.revision === tree.saved.revision);
  tree.saved = { id: own ? tree.saved.id : fresh(), revision: fresh() };
  const text = JSON.stringify({ title: titleOf(tree), when: Date.now(), game: tree.kept() });
  try {
    localStorage.setItem(PREFIX + tree.saved.id, text);
    dispatchEvent(new Event("saved"));
  } catch {
    if (!told) toast(FULL);
    told = true;
  }
}

function savedGames() {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  return keys.map((key) => [key, entryOf(key)]).filter(([, entry]) => entry?.game).sort(([, a], [, b]) => b.when - a.when);
}

/** The list; `open` gets a game that is chosen. */
export class SavedGames {
  constructor(open) {
    this.open = open;
    this.list = html("ul", { class: "files" });
    this.element = html("details", { class: "panel" }, html("summary", {}, "Saved games"), this.list);
    this.element.addEventListener("toggle", () => this.#draw());
    for (const event of ["saved", "storage"]) addEventListener(event, () => this.#draw());
  }

  #draw() {
    if (!this.element.open) return;
    const games = savedGames();
    const entry = ([key, { title, when, game }]) => html("li", {}, button(title, () => this.open(game)), html("span", { class: "facts" }, new Date(when).toLocaleDateString()), button("×", () => this.#remove(key, title), { class: "quiet", "aria-label": `Delete ${title}` }));
    this.list.replaceChildren(...(games.length ? games.map(entry) : [html("li", { class: "soft" }, "None yet: a game is saved here from its first move on.")]));
  }

  #remove(key, title) {
    const text = localStorage.getItem(key);
    localStorage.removeItem(key);
    this.#draw();
    toast(`${title} was deleted.`, "note", ["Undo", () => (localStorage.setItem(key, text), this.#draw())]);
  }
}
