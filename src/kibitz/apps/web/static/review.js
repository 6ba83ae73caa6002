// A review: an annotation that is followed to its end, and the key moments of a game.

import { html } from "./board.js";
import { ask, connection } from "./connection.js";
import { FAULTS } from "./tree.js";
import { button, guarded } from "./widgets.js";

/** The moves on which a game turned; a click goes there. */
export class KeyMoments {
  constructor(tree) {
    this.tree = tree;
    this.list = html("ol");
    this.element = html("section", { class: "panel keys", "aria-label": "Key moments", hidden: true }, html("h2", {}, "Key moments"), this.list);
    tree.addEventListener("change", () => this.draw());
    tree.addEventListener("go", () => this.#mark());
  }

  get nodes() {
    return this.tree.main().filter((node) => node.key);
  }

  draw() {
    this.element.hidden = !this.tree.reviewed;
    const entry = (node) => {
      const fault = node.nags.map((nag) => FAULTS[nag]).find(Boolean) ?? "";
      const move = button(`${this.tree.numberText(node, true)} ${node.san}`, () => this.tree.go(node), { class: `move ${fault}`, "data-node": node.id });
      return html("li", {}, move, " ", node.comment);
    };
    const none = html("li", { class: "soft" }, "No move changed the game much.");
    this.list.replaceChildren(...(this.nodes.length ? this.nodes.map(entry) : [none]));
    this.#mark();
  }

  #mark() {
    for (const one of this.list.querySelectorAll(".move")) Number(one.dataset.node) === this.tree.at.id ? one.setAttribute("aria-current", "true") : one.removeAttribute("aria-current");
  }
}

/** Follow an annotation to its end, also over a lost connection; one at a time in a place. */
export function followJob(place, facts, open) {
  const job = facts.job;
  place.unfollow?.();
  place.unfollow = () => {
    connection.removeEventListener("open", again);
    connection.forget(job);
  };
  const show = (one) => {
    if (one.state !== "running") place.unfollow();
    showJob(place, one, () => guarded(() => ask("job", { job, stop: true })), open);
  };
  const again = async () => show(await ask("job", { job }).catch(() => ({ state: "failed", error: "The server has begun anew and lost the annotation; start it again." })));
  connection.listen(job, show);
  connection.addEventListener("open", again);
  show(facts);
}

/** Progress of an annotation, and its report in the end. */
function showJob(place, facts, stop, open) {
  place.hidden = false;
  if (facts.state === "running") {
    const bar = html("progress", { max: facts.total, value: Math.min(facts.done, facts.total), "aria-label": "Annotation" });
    const text = facts.done < facts.total ? `Annotating: ${facts.done} of ${facts.total} positions` : "Looking deeper at what seemed wrong …";
    place.replaceChildren(html("span", {}, text), bar, button("Stop", stop));
    return;
  }
  if (facts.state === "done") {
    open(facts.game);
    place.hidden = false;
    place.replaceChildren(html("span", {}, "Annotated."), html("a", { href: facts.report, target: "_blank", rel: "noopener", class: "button" }, "Open the report"));
  } else {
    place.replaceChildren(html("span", {}, facts.error || "The annotation was stopped."));
  }
}
