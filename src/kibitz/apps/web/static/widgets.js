// Small parts of the page: buttons, choices, messages, files to save.

import { html } from "./board.js";

export const button = (text, onclick, attributes = {}) => html("button", { type: "button", onclick, ...attributes }, text);

/** A labelled choice; options are texts or [value, text]. */
export function choice(label, options, value, onchange) {
  const select = html("select", {}, ...options.map((one) => {
    const [key, text] = Array.isArray(one) ? one : [one, one];
    return html("option", { value: key, selected: String(key) === String(value) }, text);
  }));
  select.addEventListener("change", () => onchange?.(select.value));
  const element = html("label", { class: "field" }, html("span", {}, label), select);
  return { element, select, get value() { return select.value; } };
}

export function field(label, attributes) {
  const input = html("input", attributes);
  const box = attributes.type === "checkbox";
  const parts = box ? [input, html("span", {}, label)] : [html("span", {}, label), input];
  return { element: html("label", { class: box ? "field tick" : "field" }, ...parts), input };
}

/** Say something that goes away by itself, in place of what was said before; `action` is [text, what it does]. */
export function toast(text, kind = "error", action = null) {
  const close = () => message.remove();
  const act = action && button(action[0], () => (close(), action[1]()), { class: "act" });
  const message = html("div", { class: `toast ${kind}` }, html("span", {}, text), act, button("×", close, { "aria-label": "Close" }));
  document.getElementById("toasts").replaceChildren(message);
  setTimeout(close, action ? 20_000 : 9000);
}

/** Run something that may fail, and say why if it does. */
export async function guarded(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message);
    return undefined;
  }
}

/** Save a text or a Blob as a file. */
export function save(name, content) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: "text/plain" });
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.", "note");
  } catch {
    toast(text, "note");
  }
}

/** A dialog; resolves with the button's value, null if it was closed. */
export function dialog(title, body, buttons) {
  return new Promise((resolve) => {
    let answer = null;
    const element = html("dialog", { "aria-label": title }, html("h2", {}, title), ...body);
    const end = (value) => ((answer = value), element.close());
    element.append(html("div", { class: "row" }, ...buttons.map(([text, value, kind]) => button(text, () => end(value), { class: kind ?? "" }))));
    element.addEventListener("close", () => (element.remove(), resolve(answer))); // the focus is back where it was
    document.body.append(element);
    element.showModal();
  });
}

/** Ask before something is lost; the answer that loses nothing comes first. */
export const confirmed = (title, text, yes, no) => dialog(title, [html("p", {}, text)], [[no, false, "accent"], [yes, true]]);

export const whole = (number) => Math.round(number).toLocaleString("en");
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
export const short = (number) => (number < 10_000 ? whole(number) : number < 1e6 ? `${(number / 1e3).toFixed(0)} k` : `${(number / 1e6).toFixed(1)} M`);

/** A score in White's view: {kind, amount} as +0.35 or #4. */
export function scoreText({ kind, amount, mated }) {
  if (kind === "mate") return mated ? "mate" : `${amount < 0 ? "-" : ""}#${Math.abs(amount)}`;
  return `${amount >= 0 ? "+" : ""}${(amount / 100).toFixed(2)}`;
}

/** White's chances, in [-1, 1], of a score of a PGN: the logistic curve that the report draws. */
export function valueOf([kind, amount], turn) {
  if (kind === "mate") return amount > 0 || (amount === 0 && turn === "b") ? 1 : -1; // 0: who moves is mated
  return 2 / (1 + Math.exp(-0.00368208 * amount)) - 1;
}
