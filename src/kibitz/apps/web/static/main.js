// The page: its views, light and dark, keys, and how the connection is.

import { html } from "./board.js";
import { Analyse } from "./analyse.js";
import { connection } from "./connection.js";
import { keepFocus } from "./focus.js";
import { apply, openLook } from "./look.js";

const VIEWS = {
  analyse: ["Analyse", async () => new Analyse()],
  play: ["Play", async () => new (await import("./play.js")).Play(views)],
  coach: ["Coach", async () => new (await import("./coach.js")).Coach(views)],
  puzzles: ["Puzzles", async () => new (await import("./puzzles.js")).Puzzles()],
  training: ["Training", async () => new (await import("./training.js")).Training()],
  networks: ["Networks", async () => new (await import("./networks.js")).Networks()],
};
const made = new Map();
let current = null;

/** What views may ask of the page: open a game in Analyse, and have it reviewed. */
const views = {
  async analyse(game, review = false) {
    location.hash = "#analyse";
    const analyse = await view("analyse");
    analyse.replace(game);
    if (review) analyse.review();
  },
};

function view(name) {
  if (!made.has(name)) made.set(name, ready(name));
  return made.get(name);
}

/** A view, once what it kept is there again: what was done in it before would be overwritten. */
async function ready(name) {
  const found = await VIEWS[name][1]();
  await found.restored;
  return found;
}

function named() {
  const name = location.hash.slice(1).split("/")[0];
  return name in VIEWS ? name : "analyse";
}

async function show() {
  const wanted = named();
  for (const link of document.querySelectorAll("#views a")) link.hash === `#${wanted}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  const found = await view(wanted);
  if (named() !== wanted) return;
  if (current === found) return void found.visit?.();
  current?.left?.();
  current = found;
  document.getElementById("view").replaceChildren(found.element);
  document.getElementById("title").textContent = VIEWS[wanted][0];
  document.title = wanted === "analyse" ? "Kibitz" : `${VIEWS[wanted][0]} · Kibitz`;
  found.shown?.();
}

function onKey(event) {
  const typing = event.target.closest("input, textarea, select, dialog, [role=grid], .think-table");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " " && event.target.closest("button, a, summary")) return;
  const work = current?.keys?.[event.key];
  if (!work) return;
  event.preventDefault();
  work();
}

apply();
keepFocus();
document.getElementById("views").append(...Object.entries(VIEWS).map(([name, [title]]) => html("a", { href: `#${name}` }, title)));
document.getElementById("look").addEventListener("click", openLook);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", show);
connection.addEventListener("state", () => {
  const place = document.getElementById("connection");
  place.textContent = connection.state === "open" ? "" : "connecting to the server …";
  place.className = connection.state;
  document.body.dataset.connection = connection.state;
});
connection.start();
show();
