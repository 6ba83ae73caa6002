// A panel of one engine: on and off, its lines, wins-draws-losses, and a look into its tree as it thinks.

import { html } from "./board.js";
import { ask, connection } from "./connection.js";
import { wdlBar } from "./graph.js";
import { keepHeight, keepOpen, keepPanel, panelState } from "./store.js";
import { button, choice, field, guarded, percent, scoreText, short, whole } from "./widgets.js";

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
const KEYS = ["uci", "san", "visits", "pending", "prior", "value", "draw", "deviation", "bonus", "score", "raw", "proof"];
const HISTORY = 600; // snapshots that are kept; then every second one is dropped
const SEARCHES = [["mcts", "Tree search"], ["alphabeta", "Alpha-beta"], ["bestfirst", "Best-first"]];
const RULES = { "": "PUCT", puct: "PUCT", azero: "AlphaZero's PUCT", sble: "SBLE-PUCT", gumbel: "Gumbel" };

const asRow = (list) => Object.fromEntries(KEYS.map((key, index) => [key, list[index]]));
const fixed = (number, digits) => (number == null ? "" : number.toFixed(digits)); // null: the search gave none
const signed = (number) => (number == null ? "" : `${number >= 0 ? "+" : "−"}${Math.abs(number).toFixed(3)}`);

/** A panel; `hooks` are place(), preview(placement, uci), play(ucis), told(snapshot, panel), changed(). */
export class EnginePanel {
  on = false;
  paused = true; // while another view is shown
  wanted = { network: "", search: "mcts", preset: "default", rule: "", contempt: null, lines: 3 };
  #topic = "";
  #asked = ""; // what the server searches, as text
  #resting = false; // it has searched for as long as it may without a new wish
  #busy = false;
  #history = [];
  #live = true;
  #path = [];
  #rows = new Map(); // of the table, by move
  #rowsOf = ""; // the path they belong to
  #long = new Set(); // numbers of the lines of which all moves are shown

  constructor(number, hooks, wanted = {}) {
    Object.assign(this, { number, hooks });
    Object.assign(this.wanted, wanted);
    this.switch = html("button", { type: "button", class: "switch", role: "switch", "aria-checked": "false", "aria-label": "Engine", onclick: () => this.toggle() });
    this.name = html("span", { class: "engine-name" });
    this.score = html("b", { class: "big-score" });
    this.facts = html("span", { class: "facts" });
    this.lines = html("ol", { class: "lines" });
    this.wdl = html("div", {});
    this.message = html("p", { class: "message", hidden: true });
    this.settings = html("div", { class: "settings", hidden: true });
    const headings = COLUMNS.map(([, name, help, wide]) => html("th", { scope: "col", title: help, class: wide ? "wide" : "" }, name));
    this.body = html("tbody");
    this.tableMessage = html("p", { class: "soft" });
    this.table = html("div", { class: "think-table", tabindex: 0, role: "region", "aria-label": "Moves in the tree" }, html("table", {}, html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Move"), ...headings)), this.body), this.tableMessage);
    this.crumbs = html("nav", { class: "crumbs", "aria-label": "Where in the tree" });
    this.slider = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Back in time" });
    this.moment = html("span", { class: "facts" });
    this.slider.addEventListener("input", () => this.#slide());
    this.think = html("details", { class: "think" }, html("summary", {}, "Watch it think"), this.crumbs, keepHeight(this.table, `table ${number}`), html("div", { class: "row time" }, this.slider, this.moment));
    keepOpen(this.think, `think ${number}`);
    this.think.addEventListener("toggle", () => this.#showMoves());
    const gear = button("Settings", () => this.#openSettings(), { class: "quiet", "aria-expanded": "false" });
    this.gear = gear;
    const head = html("div", { class: "engine-head" }, this.switch, this.score, html("div", { class: "engine-about" }, this.name, this.facts), gear);
    this.element = html("section", { class: "panel engine", "aria-label": `Engine ${number + 1}` }, head, this.settings, this.message, this.wdl, this.lines, this.think);
    this.lines.addEventListener("mouseleave", () => hooks.preview(null));
    connection.addEventListener("open", () => !this.#resting && this.#again());
    this.#describe();
    if (panelState(`settings ${number}`).open) this.#openSettings();
  }

  get title() {
    const { search, rule, preset, contempt, network } = this.wanted;
    const kind = search === "mcts" ? RULES[rule] ?? rule : SEARCHES.find(([key]) => key === search)[1];
    const usual = search === "mcts" && !rule;
    return [network || "Kibitz", usual ? "" : kind, preset === "default" ? "" : preset, contempt ? `contempt ${contempt}` : ""].filter(Boolean).join(" · ");
  }

  /** Ask anew for what is searched: the server has lost it, or it rests. */
  #again() {
    this.#resting = false;
    this.#asked = "";
    this.follow();
  }

  #describe() {
    this.name.textContent = this.title;
    this.switch.setAttribute("aria-checked", this.on);
  }

  toggle(on = !this.on) {
    this.on = on;
    this.#describe();
    this.follow();
    this.hooks.changed();
  }

  /** Rest while another view is shown, and go on after it. */
  pause(paused) {
    this.paused = paused;
    this.follow();
  }

  /** Search the position of the page, if that is not what is searched; the newest wish wins. */
  async follow() {
    const wish = this.on && !this.paused ? JSON.stringify([this.hooks.place(), this.wanted]) : "";
    if (this.#busy || wish === this.#asked) return;
    this.#busy = true;
    this.#asked = wish;
    try {
      if (!wish) await ask("unwatch", { panel: this.number });
      else await this.#begin(...JSON.parse(wish));
      this.#say("");
    } catch (error) {
      this.#say(error.message);
      this.on = false;
      this.#asked = "";
      this.#describe();
    } finally {
      this.#busy = false;
    }
    this.follow();
  }

  async #begin(place, wanted) {
    connection.forget(this.#topic);
    connection.forget(`${this.#topic} below`);
    this.#history = [];
    this.#resting = false;
    this.#live = true;
    this.#path = [];
    this.#rows.clear();
    const { topic } = await ask("watch", { panel: this.number, place, wanted });
    this.#topic = topic;
    connection.listen(topic, (message) => this.#take(message));
    connection.listen(`${topic} below`, (message) => this.#takeBelow(message));
  }

  /** Say that the search has ended by itself, and how it goes on. */
  #rest(minutes) {
    this.#resting = true;
    this.#say(`The engine rests after ${minutes} minutes without a new wish.`);
    this.message.append(" ", button("Go on", () => this.#again()));
  }

  #say(text) {
    this.message.textContent = text;
    this.message.hidden = !text;
  }

  #take(message) {
    if (message.state === "loading" && !this.#history.length) this.facts.textContent = "loading; the first time it is compiled";
    if (message.state === "failed") this.#say(message.error);
    if (message.state === "resting") this.#rest(message.minutes);
    if (!message.moves) return;
    message.rows = message.moves.map(asRow);
    this.#history.push({ snapshot: message, below: null });
    if (this.#history.length > HISTORY) {
      this.#history = this.#history.filter((_, index) => index % 2 || index === this.#history.length - 1);
      this.slider.value = Math.floor(this.slider.value / 2);
    }
    this.slider.max = this.#history.length - 1;
    this.#say((message.problems ?? []).join(". "));
    this.#showLines(message);
    if (this.#live) this.#showMoves();
    this.hooks.told(message, this);
  }

  #takeBelow(message) {
    if (message.path.join() !== this.#path.join()) return;
    message.rows = message.moves.map(asRow);
    const newest = this.#history.at(-1);
    if (newest) newest.below = message;
    if (this.#live) this.#showMoves();
  }

  // --- lines -----------------------------------------------------------------------------------

  #showLines(message) {
    const [best] = message.lines;
    this.score.textContent = scoreText(best);
    this.facts.textContent = `depth ${message.depth} · ${short(message.nodes)} positions · ${short(message.nps)}/s`;
    this.wdl.replaceChildren(wdlBar(best.wdl));
    if (this.lines.matches(":hover, :focus-within")) return; // it stands still while one points at it
    const place = this.hooks.place();
    this.lines.replaceChildren(...message.lines.filter((line) => line.moves.length).map((line, number) => {
      const show = (index) => async () => {
        line.boards ??= await guarded(() => ask("line", { place, moves: line.moves }));
        if (line.boards) this.hooks.preview(line.boards[index], line.moves[index]);
      };
      const moves = line.sans.map((san, index) => button(san, () => this.hooks.play(line.moves.slice(0, index + 1)), { class: "line-move", onmouseenter: show(index), onfocus: show(index), onblur: () => this.hooks.preview(null) }));
      const long = this.#long.has(number);
      const more = button("…", () => this.#lengthen(number), { class: "line-more", "aria-label": "All moves of the line", "aria-expanded": String(long) });
      return html("li", { class: long ? "long" : "" }, html("b", { class: "line-score" }, scoreText(line)), html("span", { class: "line-moves" }, ...moves), more);
    }));
  }

  /** Show all moves of a line, or again those for which its row has room. */
  #lengthen(number) {
    if (!this.#long.delete(number)) this.#long.add(number);
    const item = this.lines.children[number], long = this.#long.has(number);
    item.classList.toggle("long", long);
    item.querySelector(".line-more").setAttribute("aria-expanded", String(long));
  }

  // --- the tree --------------------------------------------------------------------------------

  #slide() {
    this.#live = Number(this.slider.value) >= this.#history.length - 1;
    this.#showMoves();
  }

  async #openPath(path) {
    this.#path = path;
    const newest = this.#history.at(-1);
    if (newest) newest.below = null;
    this.#live = true;
    this.#showMoves();
    await guarded(() => ask("below", { panel: this.number, path: path.length ? path : null }));
  }

  #showMoves() {
    if (!this.think.open || !this.#history.length) return;
    const index = this.#live ? this.#history.length - 1 : Number(this.slider.value);
    const { snapshot, below } = this.#history[index];
    const deep = this.#path.length > 0;
    const known = below ?? (this.#live ? this.#history.findLast((one) => one.below)?.below : null);
    const shown = deep ? (known?.path.join() === this.#path.join() ? known : { rows: [], error: "reading the tree …" }) : snapshot;
    if (this.#live) this.slider.value = this.slider.max;
    this.moment.textContent = `${(snapshot.ms / 1000).toFixed(1)} s · ${whole(snapshot.visits)} visits${this.#live ? "" : " (earlier)"}`;
    this.#showCrumbs(shown, deep);
    this.tableMessage.textContent = shown.error ?? "";
    this.#fill(shown.rows);
  }

  #showCrumbs(shown, deep) {
    const sans = shown.sans?.length === this.#path.length ? shown.sans : this.#path;
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

  // --- settings --------------------------------------------------------------------------------

  async #openSettings() {
    this.settings.hidden = !this.settings.hidden;
    this.gear.setAttribute("aria-expanded", !this.settings.hidden);
    keepPanel(`settings ${this.number}`, { open: !this.settings.hidden });
    if (this.settings.childElementCount || this.settings.hidden) return;
    const known = await guarded(() => ask("hello"));
    if (!known) return;
    const set = (key, read = (value) => value) => (value) => {
      this.wanted[key] = read(value);
      this.#describe();
      this.follow();
      this.hooks.changed();
    };
    const contempt = field("Contempt: replies freeze after", { type: "number", min: 1, max: 1e9, placeholder: "off", value: this.wanted.contempt ?? "" });
    contempt.input.addEventListener("change", () => set("contempt", (text) => (text ? Math.max(1, Math.round(Number(text))) : null))(contempt.input.value));
    const rules = known.rules.map((rule) => [rule === "puct" ? "" : rule, RULES[rule] ?? rule]);
    this.settings.replaceChildren(
      choice("Network", [["", "default"], ...known.networks], this.wanted.network, set("network")).element,
      choice("Search", SEARCHES, this.wanted.search, set("search")).element,
      choice("Rule", rules, this.wanted.rule, set("rule")).element,
      choice("Constants", known.presets, this.wanted.preset, set("preset")).element,
      contempt.element,
      choice("Lines", [1, 2, 3, 4, 5].map(String), this.wanted.lines, set("lines", Number)).element,
    );
  }

  /** The moves that are searched most, as arrows. */
  arrows(color, rows) {
    const total = rows.reduce((sum, row) => sum + row.visits, 0) || 1;
    return rows
      .filter((row) => row.visits / total > 0.06)
      .slice(0, 4)
      .map((row) => [color, row.uci.slice(0, 2), row.uci.slice(2, 4), Math.min(0.85, 0.2 + row.visits / total)]);
  }
}
