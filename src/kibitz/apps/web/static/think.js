// Watch it think: the moves of the tree as a table, moves below moves, and back in time.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { asRow } from "./engine.js";
import { keepHeight } from "./store.js";
import { button, guarded, percent, whole } from "./widgets.js";

const COLUMNS = [ // key, heading, what it is, wide screens only
  ["visits", "Visits", "playouts that went through the move", false],
  ["share", "Share", "of the visits of the position", true],
  ["prior", "Prior", "what the network expects before the search", false],
  ["value", "Value", "average of the visits, for the player who moves", false],
  ["draw", "Draw", "probability of a draw", true],
  ["deviation", "±", "spread of the values", true],
  ["bonus", "Explore", "what the rule adds for moves that are little searched", true],
  ["score", "Score", "value and exploration: the rule takes the highest", true],
  ["raw", "Raw", "the network's own value of the position after the move", true],
  ["proof", "Proof", "what is proved of the move", false],
];
const fixed = (number, digits) => (number == null ? "" : number.toFixed(digits)); // null: the search gave none
const signed = (number) => (number == null ? "" : `${number >= 0 ? "+" : "−"}${Math.abs(number).toFixed(3)}`);

/** The table of a panel, whose `history` it shows. */
export class ThinkTable {
  #live = true;
  #path = [];
  #rows = new Map(); // by move
  #rowsOf = ""; // the path they belong to
  #crumbsOf = ""; // the moves that are named above it

  constructor(panel) {
    this.panel = panel;
    const headings = COLUMNS.map(([, name, help, wide]) => html("th", { scope: "col", title: help, class: wide ? "wide" : "" }, name));
    this.body = html("tbody");
    this.tableMessage = html("p", { class: "soft" });
    this.table = html("div", { class: "think-table", tabindex: 0, role: "region", "aria-label": `Moves in the tree of engine ${panel.number + 1}` }, html("table", {}, html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Move"), ...headings)), this.body), this.tableMessage);
    this.crumbs = html("nav", { class: "crumbs", "aria-label": `Where in the tree of engine ${panel.number + 1}` });
    this.slider = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Back in time" });
    this.moment = html("span", { class: "facts" });
    this.slider.addEventListener("input", () => this.#slide());
    this.elements = [this.crumbs, keepHeight(this.table, `table ${panel.number}`), html("div", { class: "row time" }, this.slider, this.moment)];
  }

  /** Another position is searched. */
  clear() {
    this.#live = true;
    this.#path = [];
    this.#rows.clear();
  }

  /** Every second moment was dropped. */
  halve() {
    this.slider.value = Math.floor(this.slider.value / 2);
  }

  /** Show the newest moment, unless an earlier one is looked at. */
  follow() {
    this.slider.max = this.panel.history.length - 1;
    if (this.#live) this.show();
  }

  /** What is below the moves that were chosen. */
  takeBelow(message) {
    if (message.path.join() !== this.#path.join()) return;
    message.rows = message.moves.map(asRow);
    const newest = this.panel.history.at(-1);
    if (newest) newest.below = message;
    if (this.#live) this.show();
  }

  #slide() {
    this.#live = Number(this.slider.value) >= this.panel.history.length - 1;
    this.show();
  }

  async #openPath(path) {
    this.#path = path;
    const newest = this.panel.history.at(-1);
    if (newest) newest.below = null;
    this.#live = true;
    this.show();
    await guarded(() => ask("below", { panel: this.panel.number, path: path.length ? path : null }));
  }

  show() {
    if (!this.panel.think.open || !this.panel.history.length) return;
    this.slider.max = this.panel.history.length - 1;
    const index = this.#live ? this.panel.history.length - 1 : Number(this.slider.value);
    const { snapshot, below } = this.panel.history[index];
    const deep = this.#path.length > 0;
    const known = below ?? (this.#live ? this.panel.history.findLast((one) => one.below)?.below : null);
    const shown = deep ? (known?.path.join() === this.#path.join() ? known : { rows: [], error: "reading the tree …" }) : snapshot;
    if (this.#live) this.slider.value = this.slider.max;
    this.moment.textContent = `${(snapshot.ms / 1000).toFixed(1)} s · ${whole(snapshot.visits)} visits${this.#live ? "" : " (earlier)"}`;
    this.#showCrumbs(shown, deep);
    this.tableMessage.textContent = shown.error ?? "";
    this.#fill(shown.rows);
  }

  #showCrumbs(shown, deep) {
    const sans = shown.sans?.length === this.#path.length ? shown.sans : this.#path;
    const key = JSON.stringify(deep && sans);
    if (key === this.#crumbsOf) return; // buttons stay, with the focus
    this.#crumbsOf = key;
    const steps = deep ? sans.map((san, index) => button(san, () => this.#openPath(this.#path.slice(0, index + 1)))) : [];
    this.crumbs.replaceChildren(button("Root", () => this.#openPath([])), ...steps.flatMap((one) => ["›", one]));
    if (deep) this.crumbs.append(button("Back", () => this.#openPath(this.#path.slice(0, -1)), { class: "quiet" }));
    else this.crumbs.append(html("span", { class: "soft" }, "choose a move to look below it"));
  }

  /** Fill the table; rows stay the same elements, so that a click meets what was pointed at. */
  #fill(rows) {
    const total = rows.reduce((sum, row) => sum + row.visits, 0) || 1, most = Math.max(1, ...rows.map((row) => row.visits));
    const texts = (row) => ({
      visits: whole(row.visits), share: percent(row.visits / total, 1), prior: percent(row.prior, 1), value: signed(row.value), draw: row.draw == null ? "" : percent(row.draw),
      deviation: fixed(row.deviation, 2), bonus: fixed(row.bonus, 3), score: fixed(row.score, 3), raw: signed(row.raw), proof: row.proof,
    });
    const path = this.#path.join();
    if (path !== this.#rowsOf) (this.#rows.clear(), (this.#rowsOf = path));
    const body = rows.map((row) => {
      const known = this.#rows.get(row.uci) ?? this.#newRow(row);
      known.bar.style.width = `${(100 * row.visits) / most}%`;
      Object.entries(texts(row)).forEach(([key, text]) => known.cells[key].textContent !== text && (known.cells[key].textContent = text));
      return known.row;
    });
    const now = this.body.children;
    if (now.length !== body.length || body.some((one, index) => one !== now[index])) this.body.replaceChildren(...body);
  }

  #newRow({ uci, san }) {
    const open = () => this.#openPath([...this.#path, uci]);
    const cells = Object.fromEntries(COLUMNS.map(([key, , , wide]) => [key, html("td", { class: wide ? `wide ${key}` : key })]));
    const bar = html("span", { class: "bar" });
    const row = html("tr", { "data-move": uci }, html("th", { scope: "row" }, button(san, open, { class: "line-move" }), bar), ...Object.values(cells));
    this.#rows.set(uci, { row, cells, bar });
    return this.#rows.get(uci);
  }
}
