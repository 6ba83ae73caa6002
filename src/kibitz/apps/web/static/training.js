// Training: runs of `kibitz learn` and `kibitz train` with their curves, and the data: games of shards with their targets.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { filesOf, nothingHere } from "./files.js";
import { chart, wdlBar } from "./graph.js";
import { PlayBoard, flipButton } from "./playboard.js";
import { button, choice, field, guarded, percent, whole } from "./widgets.js";

const KINDS = { run: "kibitz learn", training: "kibitz train", shard: "data" };
const FIGURES = [["elo", "rating, Elo"], ["loss_value", "loss of the value"], ["loss_policy", "loss of the policy"], ["draws", "share of draws"], ["plies", "plies of a game"]];
const COLUMNS = [["generation", "generation", 0], ["size", "network"], ["games", "games", 0], ["positions", "positions", 0], ["draws", "draws", "%"], ["plies", "plies", 0], ["loss_value", "value loss", 3], ["loss_policy", "policy loss", 3], ["elo", "rating", 0], ["error", "±", 0], ["core_hours", "core-hours", 2]];
const STEPS = [-100, -1, 1, 100];

export class Training {
  constructor() {
    this.list = html("div");
    this.content = html("div", { class: "right" });
    this.element = html("div", { class: "right" }, html("section", { class: "panel" }, html("h2", {}, "Training"), this.list), this.content);
  }

  keys = {
    ArrowLeft: () => this.shard?.step(-1), ArrowRight: () => this.shard?.step(1), PageUp: () => this.shard?.open(this.shard.number - 1), PageDown: () => this.shard?.open(this.shard.number + 1), f: () => this.shard?.board.flip(),
  };

  async shown() {
    const files = await filesOf(Object.keys(KINDS));
    if (!files.length) {
      this.list.replaceChildren(nothingHere("runs and no training data"));
      return;
    }
    if (this.select) return;
    const named = files.map(([name, kind], index) => [index, `${KINDS[kind]}: ${name.replace(/^\d+\//, "") || "this folder"}`]);
    this.select = choice("Of the server's folders", named, 0, (index) => this.#open(...files[index]));
    this.list.replaceChildren(html("div", { class: "row" }, this.select.element, button("Read again", () => this.#open(...files[this.select.value]))));
    await this.#open(...files[0]);
  }

  async #open(name, kind) {
    this.shard = null;
    if (kind === "shard") {
      this.shard = new ShardView(name);
      this.content.replaceChildren(this.shard.element);
      return this.shard.open(0);
    }
    const found = await guarded(() => ask("open", { name, kind }));
    if (found) this.content.replaceChildren(kind === "run" ? learning(found) : training(found));
    return undefined;
  }
}

function learning({ rows, lines }) {
  const charts = FIGURES.map(([key, title]) => {
    const points = rows.filter((row) => row[key] != null).map((row) => [key === "elo" ? row.core_hours : row.generation, row[key]]);
    return points.length > 1 ? chart(title, [{ name: title, points }], key === "elo" ? "core-hours" : "generation") : null;
  });
  const text = (value, places) => (value == null ? "" : places === "%" ? percent(value) : typeof value === "number" ? (places ? value.toFixed(places) : whole(value)) : value);
  const table = html("table", {}, html("thead", {}, html("tr", {}, ...COLUMNS.map(([, name]) => html("th", { scope: "col" }, name)))), html("tbody", {}, ...[...rows].reverse().map((row) => html("tr", {}, ...COLUMNS.map(([key, , places]) => html("td", {}, text(row[key], places)))))));
  return html("section", { class: "panel" }, ...lines.map((line) => html("p", {}, line)), html("div", { class: "charts" }, ...charts.filter(Boolean)), html("div", { class: "rows" }, table));
}

/** Figures of a training; what is measured in training and in validation shares a chart. */
function training({ name, steps, figures }) {
  const groups = new Map();
  for (const [key, points] of Object.entries(figures)) {
    const title = key.replace(/^validation_/, "");
    if (!groups.has(title)) groups.set(title, []);
    if (points.length) groups.get(title).push({ name: key === title ? "training" : "validation", points });
  }
  const charts = [...groups].map(([title, curves]) => chart(title.replaceAll("_", " "), curves, "step"));
  return html("section", { class: "panel" }, html("h3", {}, `${name}: ${whole(steps)} steps`), html("div", { class: "charts" }, ...charts.filter(Boolean)));
}

/** Games of a shard, position by position: what was played, and what a network shall learn there. */
class ShardView {
  number = 0;
  ply = 0;

  constructor(name) {
    this.name = name;
    this.board = new PlayBoard({ onMove: () => {} });
    this.title = html("h3", {}, "Games");
    this.about = html("p", { class: "facts" });
    this.values = html("table", { class: "facts-table" });
    this.target = html("ol", { class: "policy" });
    this.network = html("ol", { class: "policy" });
    this.says = html("div");
    this.game = field("Game", { type: "number", min: 1, value: 1 });
    this.game.input.addEventListener("change", () => this.open(Number(this.game.input.value) - 1));
    this.place = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Position of the game" });
    this.place.addEventListener("input", () => this.#go(Number(this.place.value)));
    this.ask = field("Ask the network, too", { type: "checkbox" });
    this.ask.input.addEventListener("change", () => this.#look());
    const games = STEPS.map((by) => button(`${by > 0 ? "+" : "−"}${Math.abs(by)}`, () => this.open(this.number + by), { "aria-label": `${by} games` }));
    const steps = [[-10, "«"], [-1, "‹"], [1, "›"], [10, "»"]].map(([by, sign]) => button(sign, () => this.step(by), { "aria-label": `${by} positions` }));
    const left = html("section", { class: "left", "aria-label": "Board" }, html("div", { class: "board-and-bar" }, this.board.element), html("div", { class: "row" }, ...steps, this.place, flipButton(this.board)));
    const right = html("section", { class: "panel" }, html("div", { class: "row" }, this.game.element, ...games), this.title, this.about, this.values, html("div", { class: "two" }, html("div", {}, html("h3", {}, "Target of the policy"), this.target), html("div", {}, this.ask.element, this.says, this.network)));
    this.element = html("div", { class: "desk" }, left, right);
  }

  async open(number) {
    const most = this.data?.games ?? 1;
    const data = await guarded(() => ask("open", { name: this.name, kind: "shard", number: Math.max(0, Math.min(most - 1, number)) }));
    if (!data) return;
    this.data = data;
    this.number = data.number;
    this.game.input.value = data.number + 1;
    this.place.max = Math.max(0, data.plies.length - 1);
    this.title.textContent = `Game ${data.number + 1} of ${whole(data.games)}: ${data.result}, ${data.end}`;
    this.about.textContent = Object.entries(data.source).map(([key, value]) => `${key} ${value}`).join(" · ").slice(0, 300);
    this.#go(0);
  }

  step(by) {
    this.#go(this.ply + by);
  }

  #go(ply) {
    this.ply = Math.max(0, Math.min(this.data.plies.length - 1, ply));
    this.place.value = this.ply;
    const one = this.data.plies[this.ply];
    if (!one) return;
    this.board.show({ fen: one.fen, last: this.data.plies[this.ply - 1]?.uci ?? "", free: "" }, { slide: true });
    this.board.arrows = one.target.slice(0, 5).map(([uci, , share]) => ["G", uci.slice(0, 2), uci.slice(2, 4), 0.15 + 0.75 * share]);
    const number = (value) => (value == null ? "unknown" : value.toFixed(3));
    const rows = [["position", `${this.ply + 1} of ${this.data.plies.length}`], ["played", one.san || "nothing"], ["value of the search", number(one.value)], ["draw", number(one.draw)], ["value of the root", number(one.rootValue)], ["visits", whole(one.visits)], ["marks", one.flags]];
    this.values.replaceChildren(...rows.map(([key, value]) => html("tr", {}, html("th", { scope: "row" }, key), html("td", {}, String(value)))));
    showPolicy(this.target, one.target, one.uci);
    this.#look();
  }

  async #look() {
    this.network.replaceChildren();
    this.says.replaceChildren();
    if (!this.ask.input.checked) return;
    const { fen } = this.data.plies[this.ply];
    const found = await guarded(() => ask("look", { place: { fen, chess960: this.data.chess960 } }));
    if (!found || this.data.plies[this.ply].fen !== fen) return;
    this.says.replaceChildren(html("p", { class: "facts" }, `value ${found.value.toFixed(3)} for White`), wdlBar(found.wdl));
    showPolicy(this.network, found.policy.slice(0, 16), this.data.plies[this.ply].uci);
  }
}

/** Moves with their shares, as bars: [[uci, san, share], ...]. */
export function showPolicy(list, policy, played = "") {
  const most = Math.max(1e-9, ...policy.map(([, , share]) => share));
  list.replaceChildren(...policy.map(([uci, san, share]) => {
    const bar = html("span", { class: "bar" });
    bar.style.width = `${(100 * share) / most}%`;
    return html("li", { class: uci === played ? "good" : "" }, bar, html("span", {}, san), html("span", {}, percent(share, 1)));
  }));
  if (!policy.length) list.append(html("li", { class: "soft" }, "none was recorded"));
}
