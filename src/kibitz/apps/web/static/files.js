// Choosing a file from the folders that the server was given.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { button, guarded } from "./widgets.js";

const WORDS = { games: "games", suite: "positions", puzzles: "puzzles", shard: "training data", run: "learning", training: "training", network: "network" };

/** Files of some kinds: [[name, kind], ...]. */
export async function filesOf(kinds) {
  const all = (await guarded(() => ask("files"))) ?? [];
  return all.filter(([, kind]) => kinds.includes(kind));
}

export const nothingHere = (what) => html("p", { class: "soft" }, `No ${what} here. Start the server with folders that have some: kibitz web FOLDER`);

/** Let a file be chosen; [name, kind], or null. */
export async function browse(kinds) {
  const found = await filesOf(kinds);
  return new Promise((resolve) => {
    const list = html("ul", { class: "files" }, ...found.map((entry) => html("li", {}, button(entry[0].replace(/^\d+\//, ""), () => (element.close(), resolve(entry))), html("span", { class: "soft" }, WORDS[entry[1]]))));
    const body = found.length ? list : nothingHere(kinds.map((kind) => WORDS[kind]).join(" or "));
    const element = html("dialog", { class: "browse", "aria-label": "Files" }, html("h2", {}, "Files"), body, html("div", { class: "row" }, button("Cancel", () => element.close())));
    element.addEventListener("close", () => (element.remove(), resolve(null)));
    document.body.append(element);
    element.showModal();
  });
}
