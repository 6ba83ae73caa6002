// The positions of a test suite, one after the other, and a button that lets the engine solve the one shown.

import { html } from "./board.js";
import { ask } from "./connection.js";
import { button, choice, guarded, scoreText } from "./widgets.js";

/** Its elements, and what picks a position by number; `show` gets a FEN and a comment, `wanted` gives the engine. */
export function suiteOf(positions, { show, wanted }) {
  let number = 0;
  const result = html("span", { class: "facts", role: "status" });
  const pick = (index) => {
    number = Number(index);
    const { fen, comments, words, best } = positions[number];
    show(fen, comments.join(" "));
    result.textContent = words.length ? `${best.length ? "best" : "avoid"}: ${words.join(", ")}` : "";
  };
  const solve = async () => {
    const { fen, best, avoid, words } = positions[number];
    result.textContent = "thinking …";
    const found = await guarded(() => ask("think", { place: { fen }, wanted: { ...wanted(), lines: 1 }, movetime: 3000 }));
    if (!found) return;
    const solved = best.length ? best.includes(found.move) : !avoid.includes(found.move);
    result.textContent = `${found.san} ${scoreText(found.line)}: ${solved ? "solved" : "not solved"} (${words.join(", ")})`;
  };
  const list = choice(positions.length === 1 ? "1 position" : `${positions.length} positions`, positions.map((one, index) => [index, `${index + 1}. ${one.name || one.words.join(" ")}`]), 0, pick);
  const step = (by) => () => ((list.select.selectedIndex = Math.max(0, Math.min(positions.length - 1, number + by))), pick(list.value));
  return { pick, elements: [list.element, html("div", { class: "row" }, button("Previous", step(-1)), button("Next", step(1)), button("Solve", solve, { class: "accent" }), result)] };
}
