// A panel of one engine: on and off, its lines, wins-draws-losses, settings; a look into its tree is think.js.

import { html } from "./board.js";
import { ask, connection } from "./connection.js";
import { wdlBar } from "./graph.js";
import { keepOpen, keepPanel, panelState } from "./store.js";
import { button, choice, field, guarded, scoreText, short } from "./widgets.js";

const KEYS = ["uci", "san", "visits", "pending", "prior", "value", "draw", "deviation", "bonus", "score", "raw", "proof"];
const HISTORY = 600; // snapshots that are kept; then every second one is dropped
const SEARCHES = [["mcts", "Tree search"], ["alphabeta", "Alpha-beta"], ["bestfirst", "Best-first"]];
const RULES = { "": "PUCT", puct: "PUCT", azero: "AlphaZero's PUCT", sble: "SBLE-PUCT", gumbel: "Gumbel" };

export const asRow = (list) => Object.fromEntries(KEYS.map((key, index) => [key, list[index]]));

/** A panel; `hooks` are place(), preview(placement, uci), play(ucis), told(snapshot, panel), changed(). */
export class EnginePanel {
  on = false;
  paused = true; // while another view is shown
  wanted = { network: "", search: "mcts", preset: "default", rule: "", contempt: null, lines: 3 };
  #topic = "";
  #asked = ""; // what the server searches, as text
  #resting = false; // it has searched for as long as it may without a new wish
  #busy = false;
  history = []; // what the search said, and of what was below some moves then
  #table = null; // of the moves in the tree, once it is opened
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
    this.think = keepOpen(html("details", { class: "think" }, html("summary", {}, "Watch it think")), `think ${number}`);
    this.think.addEventListener("toggle", () => guarded(() => this.#openTable()));
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

  async #openTable() {
    if (!this.think.open) return;
    const { ThinkTable } = await import("./think.js");
    if (!this.#table) this.think.append(...(this.#table = new ThinkTable(this)).elements);
    this.#table.show();
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
    this.history = [];
    this.#resting = false;
    this.#table?.clear();
    const { topic } = await ask("watch", { panel: this.number, place, wanted });
    this.#topic = topic;
    connection.listen(topic, (message) => this.#take(message));
    connection.listen(`${topic} below`, (message) => this.#table?.takeBelow(message));
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
    if (message.state === "loading" && !this.history.length) this.facts.textContent = "loading; the first time it is compiled";
    if (message.state === "failed") this.#say(message.error);
    if (message.state === "resting") this.#rest(message.minutes);
    if (!message.moves) return;
    message.rows = message.moves.map(asRow);
    this.history.push({ snapshot: message, below: null });
    if (this.history.length > HISTORY) {
      this.history = this.history.filter((_, index) => index % 2 || index === this.history.length - 1);
      this.#table?.halve();
    }
    this.#say((message.problems ?? []).join(". "));
    this.#showLines(message);
    this.#table?.follow();
    this.hooks.told(message, this);
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
