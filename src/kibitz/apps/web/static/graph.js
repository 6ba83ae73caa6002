// Pictures of numbers: the bar beside the board, wins-draws-losses, the graph of a game, curves of trainings.

import { html, svg } from "./board.js";
import { FAULTS } from "./tree.js";

/** White's chances as a bar beside the board. */
export class EvalBar {
  constructor() {
    this.share = html("div", { class: "share" });
    this.element = html("div", { class: "evalbar", role: "img", "aria-label": "White's chances" }, this.share);
    this.show(null);
  }

  show(value, text = "", flipped = false) {
    const share = 50 + 50 * (value ?? 0);
    this.element.classList.toggle("flipped", flipped);
    this.element.classList.toggle("unknown", value == null);
    this.share.style.height = `${share}%`;
    this.element.title = value == null ? "no evaluation" : `White's chances: ${Math.round(share)} %, ${text}`;
  }
}

/** Wins, draws and losses of White, per mille, as three parts of a bar. */
export function wdlBar([win, draw, loss]) {
  const part = (kind, share) => {
    const one = html("span", { class: kind }, share >= 80 ? `${Math.round(share / 10)}` : "");
    one.style.flexGrow = share;
    return one;
  };
  const said = `White wins ${win / 10} %, draws ${draw / 10} %, loses ${loss / 10} %`;
  return html("div", { class: "wdl", title: said, role: "img", "aria-label": said }, part("win", win), part("draw", draw), part("loss", loss));
}

/** The values of a game's own moves; a click or a drag goes to one. */
export class GameGraph {
  constructor(tree, valueAt) {
    Object.assign(this, { tree, valueAt });
    this.svg = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "slider", tabindex: 0, "aria-label": "White's chances by move", "aria-valuemin": 0, "aria-valuemax": 1, "aria-valuenow": 0 });
    this.element = html("div", { class: "graph" }, this.svg);
    const pick = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = this.svg.getBoundingClientRect(), main = tree.main();
      const ply = Math.round(((event.clientX - box.left) / box.width) * (main.length - 1));
      tree.go(main[Math.max(0, Math.min(main.length - 1, ply))]);
    };
    this.svg.addEventListener("pointerdown", pick);
    this.svg.addEventListener("pointermove", pick);
    tree.addEventListener("change", () => this.draw());
    tree.addEventListener("go", () => this.draw());
    this.draw();
  }

  draw() {
    const main = this.tree.main(), many = Math.max(1, main.length - 1);
    const known = main.map((node, ply) => [ply, this.valueAt(node)]).filter(([, value]) => value != null);
    this.element.hidden = known.length < 2;
    if (known.length < 2) return;
    const x = (ply) => (1000 * ply) / many, y = (value) => 50 - 46 * value; // a dot at the edge is whole
    const points = known.map(([ply, value]) => `${x(ply).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const path = this.tree.path();
    let ply = 0;
    while (ply < path.length && main[ply + 1] === path[ply]) ply++;
    this.svg.replaceChildren(
      svg("rect", { width: 1000, height: 100, class: "black-side" }),
      svg("polygon", { points: `${x(known[0][0])},100 ${points} ${x(known.at(-1)[0])},100`, class: "white-side" }),
      svg("line", { x1: 0, x2: 1000, y1: 50, y2: 50, class: "middle" }),
      svg("polyline", { points, class: "curve" }),
      ...known.flatMap(([at, value]) => main[at].nags.filter((nag) => FAULTS[nag]).map((nag) => svg("line", { x1: x(at), x2: x(at), y1: y(value), y2: y(value), class: `fault ${FAULTS[nag]}` }, svg("title", {}, `${main[at].san}: ${FAULTS[nag]}`)))),
      svg("line", { x1: x(ply), x2: x(ply), y1: 0, y2: 100, class: "here" }),
    );
    this.svg.setAttribute("aria-valuemax", many);
    this.svg.setAttribute("aria-valuenow", ply);
  }
}

/** A figure of curves: [{name, points: [[x, y], ...], errors}]; the axis below has a name. */
export function chart(title, curves, below = "") {
  const all = curves.flatMap((one) => one.points);
  if (!all.length) return null;
  const [width, height, left, base] = [420, 206, 46, 176];
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [x0, x1] = span(all.map(([x]) => x));
  let [y0, y1] = span(all.map(([, y]) => y));
  if (y0 === y1) [y0, y1] = [y0 - 0.5, y1 + 0.5];
  const x = (one) => left + ((width - left - 8) * (one - x0)) / (x1 - x0 || 1);
  const y = (one) => base - ((base - 22) * (one - y0)) / (y1 - y0);
  const tidy = (one) => (Math.abs(one) >= 1e4 ? `${+(one / 1e3).toPrecision(3)}k` : String(+one.toPrecision(3)));
  const ticks = [0, 0.5, 1].flatMap((share) => {
    const [vx, vy] = [x0 + share * (x1 - x0), y0 + share * (y1 - y0)];
    return [
      svg("line", { x1: left, x2: width - 8, y1: y(vy), y2: y(vy), class: "grid" }),
      svg("text", { x: left - 6, y: y(vy) + 3.5, class: "tick end" }, tidy(vy)),
      svg("text", { x: x(vx), y: base + 14, class: `tick ${["", "middle", "end"][2 * share]}` }, tidy(vx)),
    ];
  });
  const lines = curves.map((one, index) => {
    const points = one.points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(" ");
    const dots = one.points.length <= 40 ? one.points.map(([px, py]) => svg("circle", { cx: x(px), cy: y(py), r: 2.6, class: `dot line-${index % 4}` }, svg("title", {}, `${tidy(px)}: ${tidy(py)}`))) : [];
    return svg("g", {}, svg("polyline", { points, class: `line line-${index % 4}` }), ...dots);
  });
  const legend = curves.length > 1 ? html("figcaption", {}, ...curves.map((one, index) => html("span", { class: `key line-${index % 4}` }, one.name))) : "";
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title} over ${below}` }, svg("text", { x: 0, y: 12, class: "title" }, title), ...ticks, svg("text", { x: width - 8, y: height - 5, class: "tick end" }, below), ...lines);
  return html("figure", { class: "chart" }, picture, legend);
}
