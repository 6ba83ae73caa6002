// A new game: whom one plays, with which time and odds, from which start.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { START } from "./tree.js";
import { button, choice, field, guarded, toast } from "./widgets.js";

const ODDS = [["", "nothing"], ["p", "a pawn (f)"], ["n", "a knight"], ["b", "a bishop"], ["r", "a rook"], ["q", "the queen"]];
const TIMES = [["1", "1 second a move"], ["3", "3 seconds a move"], ["10", "10 seconds a move"], ["60+0", "1 minute"], ["180+2", "3 minutes + 2 s"], ["300+3", "5 minutes + 3 s"], ["900+10", "15 minutes + 10 s"]];
const STRENGTHS = [[500, "First steps"], [800, "Beginner"], [1100, "Casual player"], [1400, "Club player"], [1700, "Strong club player"], [2000, "Expert"], [2300, "Master"], [2700, "Grandmaster"], [3100, "Full strength"]];
const MISTAKES = [["", "no: for the best moves"], ["1100", "yes, of players of 1100"], ["1500", "yes, of players of 1500"], ["1900", "yes, of players of 1900"]];
const STARTS = [["standard", "Standard"], ["960", "Chess960, any of them"], ["fen", "A FEN"]];
const FULL = 3100; // the end of the strength slider

/** A start in which one side gives a piece: the f-pawn, or the first of its kind from the a-file; "" without one. */
function withOdds(fen, kind, side) {
  const [placement, turn, castling, ...rest] = fen.split(" ");
  const rows = placement.split("/").map((row) => row.replace(/\d/g, (empty) => ".".repeat(Number(empty))));
  const at = (side === "w" ? 7 : 0) + (kind === "p" ? (side === "w" ? -1 : 1) : 0);
  const letter = side === "w" ? kind.toUpperCase() : kind;
  const file = kind === "p" ? (rows[at][5] === letter ? 5 : -1) : rows[at].indexOf(letter);
  if (file < 0) return "";
  rows[at] = `${rows[at].slice(0, file)}.${rows[at].slice(file + 1)}`;
  const lost = kind === "r" ? ["q", "abcdefgh"[file]].map((one) => (side === "w" ? one.toUpperCase() : one)) : [];
  const rights = [...castling].filter((one) => !lost.includes(one)).join("") || "-";
  return [rows.map((row) => row.replace(/\.+/g, (empty) => empty.length)).join("/"), turn, rights, ...rest].join(" ");
}

/** The form; `begin` gets what was chosen. */
export class NewGame {
  #play; // at a strength

  constructor(begin) {
    this.fields = {
      level: choice("Opponent", STRENGTHS.map(([elo, name]) => [elo, elo >= FULL ? name : `${name}, ${elo}`]), 1400, (elo) => ((this.strength.value = elo), shown())),
      side: choice("You play", [["w", "White"], ["b", "Black"], ["", "either"]], "w"),
      time: choice("Time", TIMES, "3"),
      odds: choice("The engine gives", ODDS, ""),
      start: choice("Start", STARTS, "standard", (value) => (this.fen.element.hidden = value !== "fen")),
      network: choice("What it judges by", [["", "the usual network"]], ""),
      mistakes: choice("It plays for your mistakes", MISTAKES, "", (value) => value && this.#play(FULL)),
    };
    this.fen = field("FEN to start from", { type: "text", placeholder: START });
    this.fen.element.hidden = true;
    this.fen.element.classList.add("wide-field");
    const label = html("output", {}, "1500");
    this.strength = html("input", { type: "range", min: 500, max: FULL, step: 100, value: 1400, "aria-label": "Strength" });
    const shown = () => {
      const elo = Number(this.strength.value), human = elo >= 1100 && elo <= 1900;
      if (elo < FULL) this.fields.mistakes.select.value = "";
      label.textContent = elo >= FULL ? "full strength" : human ? `${elo}, as people play` : `${elo}`;
    };
    this.#play = (elo) => {
      this.strength.value = this.fields.level.select.value = elo;
      shown();
    };
    this.strength.addEventListener("input", () => {
      this.fields.level.select.value = STRENGTHS.findLast(([elo]) => elo <= Number(this.strength.value))[0];
      shown();
    });
    shown();
    const strength = html("label", { class: "field wide-field" }, html("span", {}, "Exact strength: ", label), this.strength);
    this.ponder = field("It thinks on your time", { type: "checkbox" });
    this.coach = field("Tell me of a mistake before the reply, so that I can take it back", { type: "checkbox" });
    this.coach.element.classList.add("wide-field");
    const { network, mistakes, start: from, ...first } = this.fields;
    const more = html("details", { class: "wide-field" }, html("summary", {}, "More choices"), html("div", { class: "form" }, strength, ...[mistakes, from, this.fen, network, this.ponder].map((one) => one.element)));
    const play = button("Play", async () => {
      const wanted = await this.wanted();
      if (wanted) await begin(wanted);
    }, { class: "accent", id: "start-game" });
    ask("hello").then(({ networks }) => this.fields.network.select.append(...networks.map((name) => html("option", { value: name }, name))), () => {});
    this.element = html("section", { class: "panel", "aria-label": "A new game" }, html("h2", {}, "A new game"), html("div", { class: "form" }, ...Object.values(first).map((one) => one.element), this.coach.element, more), html("div", { class: "row" }, play));
  }

  /** What was chosen: where the game begins, the person's side, settings; undefined if that cannot be played. */
  async wanted() {
    const { side, time, odds, start, network, mistakes } = this.fields;
    const mine = side.value || "wb"[Math.floor(2 * Math.random())];
    const gives = mine === "w" ? "b" : "w";
    let fen = START, chess960 = false;
    if (start.value === "960") [fen, chess960] = [await guarded(() => ask("start960", { number: Math.floor(960 * Math.random()) })), true];
    else if (start.value === "fen") fen = this.fen.input.value.trim() || START;
    if (fen && odds.value && !(fen = withOdds(fen, odds.value, gives))) return void toast("The engine cannot give that: it has no such piece on its first rows there. Choose other odds, or another start.");
    if (!fen || !(await guarded(() => ask("position", { place: { fen, chess960 } })))) return undefined;
    const elo = Number(this.strength.value);
    const [base, increment] = time.value.split("+").map(Number);
    const timed = increment !== undefined;
    const settings = { elo: elo >= FULL ? null : elo, movetime: timed ? null : 1000 * base, base: timed ? 1000 * base : null, increment: 1000 * (increment ?? 0), network: network.value, mistakes: mistakes.value ? Number(mistakes.value) : null, ponder: this.ponder.input.checked, coach: this.coach.input.checked };
    return { fen, chess960, settings, side: mine };
  }
}
