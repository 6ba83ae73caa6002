// The keyboard's place on the page: where what has the focus is taken away, its twin or what surrounds it gets it.

const WATCHED = { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "disabled", "open"] };
let place = []; // what has the focus and all that it is in, the page at last

const isThere = (element) => element.isConnected && element.checkVisibility() && !element.disabled;

/** What has come in place of an element: of the same kind and name, in what surrounded both. */
function twinOf(element, around) {
  const name = (one) => `${one.className} ${one.getAttribute("aria-label") ?? one.textContent}`;
  return [...around.querySelectorAll(element.tagName)].find((one) => isThere(one) && name(one) === name(element));
}

function mend() {
  const [lost] = place, now = document.activeElement;
  if (!lost || isThere(lost) || (now && now !== document.body && isThere(now))) return;
  const around = place.find(isThere) ?? document.body, next = twinOf(lost, around) ?? around;
  if (next.tabIndex < 0) next.setAttribute("tabindex", "-1");
  next.focus({ preventScroll: true });
}

/** Watch the page from now on; a dialog that closes gives the focus back by itself, before anything is mended. */
export function keepFocus() {
  addEventListener("focusin", ({ target }) => {
    place = [];
    for (let one = target; one && one !== document.body; one = one.parentElement) place.push(one);
  });
  const forget = (target) => place[0] === target && isThere(target) && document.activeElement !== target && (place = []);
  addEventListener("focusout", ({ target }) => setTimeout(() => forget(target))); // if it is there then, it was left
  new MutationObserver(() => setTimeout(mend)).observe(document.body, WATCHED);
}
