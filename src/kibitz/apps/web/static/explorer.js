// Openings beside a board: which moves were made in its position, in one's own games or any, and how the games went.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { filesOf } from "./files.js";
import { keepPanel, panelState } from "./store.js";
import { button, choice, percent, scoreText, whole } from "./widgets.js";

const OWN = [["", "Your games"], ["white", "Your games as White"], ["black", "Your games as Black"]];
const MATE = 10_000; // centipawns that stand for one
const COLUMNS = [["Move", ""], ["Games", ""], ["Results", "White wins, draws, Black wins"], ["Performance", "the rating that such results are worth"], ["Evaluation", "of the position after the move"]];

export class Explorer {
  #shown = ""; // what the table is of
  #text = ""; // a PGN that was given
  #version = 0; // of what the games are: others may have been added or opened

  constructor(tree) {
    this.tree = tree;
    this.body = html("tbody");
    this.message = html("p", { class: "soft", role: "status" });
    this.source = choice("From", OWN, "", (source) => (keepPanel("explorer", { source }), this.show()));
    const head = html("tr", {}, ...COLUMNS.map(([name, title]) => html("th", { scope: "col", title }, name)));
    this.table = html("div", { class: "rows" }, html("table", { class: "explorer" }, html("thead", {}, head), this.body));
    this.element = html("div", { class: "openings" }, this.source.element, this.message, this.table);
    tree.addEventListener("go", () => this.show());
    tree.addEventListener("change", () => this.show());
  }

  /** Offer the files of the server, once. */
  async open() {
    if (!this.files) {
      this.files = await filesOf(["games"]);
      this.source.select.append(...this.files.map(([name]) => html("option", { value: `/${name}` }, name.replace(/^\d+\//, ""))));
      const { source } = panelState("explorer");
      if ([...this.source.select.options].some((one) => one.value === source)) this.source.select.value = source;
    }
    this.#renew();
  }

  /** The same position in games that are others by now. */
  #renew() {
    this.#version++;
    this.show();
  }

  /** Look into a PGN text of several games, too. */
  offer(text) {
    this.#text = text;
    if (!this.source.select.querySelector("[value=text]")) this.source.select.append(html("option", { value: "text" }, "The games that were opened"));
    this.#renew();
  }

  get #wanted() {
    const name = this.source.value;
    if (name === "text") return { text: this.#text };
    return name.startsWith("/") ? { file: name.slice(1) } : { side: name || null };
  }

  async show() {
    if (!this.element.isConnected || this.element.closest("details:not([open])")) return;
    const place = this.tree.place(), key = JSON.stringify([this.source.value, place, this.#version]);
    if (key === this.#shown) return;
    this.#shown = key;
    let moves = [], text = "";
    try {
      ({ moves } = await ask("openings", { place, ...this.#wanted }));
      text = moves.length ? "" : "None of these games came here.";
    } catch (error) {
      text = error.message;
    }
    if (key !== this.#shown) return;
    this.message.textContent = text;
    this.message.hidden = !text;
    this.table.hidden = !moves.length;
    this.body.replaceChildren(...moves.map((move) => this.#row(move)));
  }

  #row({ move, san, games, white, draws, black, performance, score }) {
    const parts = [["win", white], ["draw", draws], ["loss", black]].map(([kind, count]) => {
      const part = html("span", { class: kind }, count / games >= 0.2 ? percent(count / games) : "");
      part.style.flexGrow = count;
      return part;
    });
    const said = `White wins ${white}, draws ${draws}, Black wins ${black}`;
    const evaluation = score == null ? "" : Math.abs(score) >= MATE ? `${score < 0 ? "−" : "+"}mate` : scoreText({ kind: "cp", amount: score });
    const play = button(san, () => this.tree.play(move, san).catch(() => {}), { class: "line-move" });
    return html("tr", {}, html("th", { scope: "row" }, play), html("td", {}, whole(games)), html("td", {}, html("div", { class: "wdl", role: "img", "aria-label": said, title: said }, ...parts)), html("td", {}, performance ?? ""), html("td", {}, evaluation));
  }
}
