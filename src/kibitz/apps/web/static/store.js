// What survives a reload. Each tab keeps its own; a new tab takes up the last one that no open tab has.

const TAB = "kibitz-tab";
const lockOf = (tab) => `kibitz-tab-${tab}`;

/** A storage may be forbidden, full, or hold what is not ours: then nothing is kept in it. */
function attempt(work) {
  try {
    return work() ?? null;
  } catch {
    return null;
  }
}

const tab = attempt(() => sessionStorage.getItem(TAB)) ?? Math.random().toString(36).slice(2);
attempt(() => sessionStorage.setItem(TAB, tab));
navigator.locks?.request(lockOf(tab), () => new Promise(() => {})); // held as long as the tab is open

/** Keep a value for reloads of this tab; whether the browser had room. */
export const keepHere = (name, value) => attempt(() => (sessionStorage.setItem(name, JSON.stringify({ tab, value })), true)) === true;

/** Keep a value for this tab, and for a tab that is opened when this one is closed. */
export function keep(name, value) {
  const here = keepHere(name, value);
  return attempt(() => (localStorage.setItem(name, JSON.stringify({ tab, value })), true)) === true || here;
}

const PANELS = "kibitz-panels";
const panels = () => attempt(() => JSON.parse(localStorage.getItem(PANELS))) ?? {};

/** What is kept of a panel, in all tabs. */
export const panelState = (name) => panels()[name] ?? {};

export function keepPanel(name, changes) {
  attempt(() => localStorage.setItem(PANELS, JSON.stringify({ ...panels(), [name]: { ...panelState(name), ...changes } })));
}

/** A <details> that is open after a reload if it was before. */
export function keepOpen(details, name) {
  details.open = panelState(name).open ?? details.open;
  details.addEventListener("toggle", () => keepPanel(name, { open: details.open }));
  return details;
}

/** An element that is drawn higher or lower by its corner, and stays so. */
export function keepHeight(element, name) {
  const size = (height) => ((element.style.height = `${height}px`), element.classList.add("sized"));
  const { height } = panelState(name);
  element.classList.add("resizable");
  if (height) size(height);
  element.addEventListener("pointerdown", (event) => {
    const box = element.getBoundingClientRect();
    if (box.right - event.clientX < 20 && box.bottom - event.clientY < 20) size(element.offsetHeight); // its corner
  });
  new ResizeObserver(() => element.classList.contains("sized") && element.offsetHeight && keepPanel(name, { height: element.offsetHeight })).observe(element);
  return element;
}

/** What this tab has kept, or the last tab that is closed by now; null if there is nothing. */
export async function kept(name) {
  const here = attempt(() => JSON.parse(sessionStorage.getItem(name)));
  if (here) return here.value;
  const last = attempt(() => JSON.parse(localStorage.getItem(name)));
  return last?.value && !(await isOpen(last.tab)) ? last.value : null;
}

async function isOpen(other) {
  const { held } = (await navigator.locks?.query()) ?? { held: [] };
  return held.some((lock) => lock.name === lockOf(other));
}
