// The report of annotated games: a board that steps through them, graph, key moments, moves with comments.

import { drawBoard, html, nameOf, spoken, svg } from "./board.js";

const find = (id) => document.getElementById(id);
const LABELS = { "?!": "inaccuracy", "?": "mistake", "??": "blunder" }; // and the classes of their colours
const DEEPEST = 6; // variations in variations that are shown as such
let game, number, at, quiz = null, flipped = false; // TEXTS, the words of the page's language, stands before this code

/** A text of the page with its places filled. */
const say = (name, slots = {}) => TEXTS[name].replace(/\{(\w+)\}/g, (_, place) => slots[place]);
const aloud = (board) => spoken(board, TEXTS, TEXTS.White, TEXTS.Black);

// --- a game and its tree of moves ------------------------------------------------------------------

/** Show a game of the file; each is read when it is first wanted. */
function open(wanted, start) {
  number = Math.max(1, Math.min(document.querySelectorAll("script.game").length, wanted || 1));
  game = JSON.parse(find(`game-${number}`).textContent);
  game.nodes.forEach((node, index) => {
    node.index = index;
    node.lines = [];
    if (index) game.nodes[node.parent].lines.push(node);
  });
  game.main = game.nodes.filter((node) => node.depth === 0);
  game.main.forEach((node, ply) => (node.ply = ply));
  game.byName = new Map();
  for (const node of game.nodes) {
    const name = named(node);
    if (game.byName.has(name)) game.byName.get(name).push(node);
    else game.byName.set(name, [node]);
  }
  showHead();
  showGraph();
  showMoves();
  showKeys();
  document.querySelectorAll("#games button").forEach((button, index) => {
    button.setAttribute("aria-current", index + 1 === number);
    if (index + 1 === number) keepVisible(find("games").firstChild, button);
  });
  const first = game.keys.find((key) => game.nodes[key].quiz);
  if (start != null) go(Math.max(0, Math.min(Math.trunc(start) || 0, game.nodes.length - 1)));
  else first ? ask(game.nodes[first]) : go(game.keys[0] ?? 0);
}

const named = (node) => `${node.number ?? ""}${node.san ?? ""}`;

const parentOf = (node) => game.nodes[node.parent];
const siblings = (node) => (node.index ? parentOf(node).lines : [node]);

/** The move of the game that a variation belongs to. */
function mainOf(node) {
  while (node.depth) node = parentOf(node);
  return node;
}

// --- where one is ----------------------------------------------------------------------------------

function go(index, moves = false) {
  at = game.nodes[index];
  quiz = null;
  document.body.classList.remove("asking");
  draw(at.marks, moves);
  showValue();
  showWords();
  document.querySelectorAll("#moves .current").forEach((one) => one.classList.remove("current"));
  const button = find(`move-${index}`);
  if (button) {
    button.classList.add("current");
    keepVisible(find("moves"), button);
  }
  find("back").disabled = find("first").disabled = index === 0;
  find("next").disabled = find("last").disabled = at.lines.length === 0;
  history.replaceState(null, "", `#${number}.${index}`);
}

/** The board as it stands, with what is drawn on it. */
function draw(marks, moves = false) {
  drawBoard(find("board"), at.board, { flipped, move: at.move, marks, moves });
  find("board").setAttribute("aria-label", `${TEXTS.board}. ${aloud(at.board)}`);
}

/** Scroll a list so that an entry is seen, without moving the page. */
function keepVisible(list, entry) {
  if (list.scrollHeight <= list.clientHeight + 1) return;
  const [outer, inner] = [list.getBoundingClientRect(), entry.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    list.scrollTop += inner.top - outer.top - list.clientHeight / 3;
  }
}

const next = () => at.lines.length && go(at.lines[0].index, true);
const back = () => at.index && go(at.parent);
const first = () => go(0);

function last() {
  let node = at;
  while (node.lines.length) node = node.lines[0];
  go(node.index);
}

/** Change to another move in the same position. */
function turn(step) {
  const lines = siblings(at);
  if (lines.length > 1) go(lines[(lines.indexOf(at) + step + lines.length) % lines.length].index, true);
}

function toKey(step) {
  const here = mainOf(at).index;
  const keys = step > 0 ? game.keys.filter((key) => key > here) : game.keys.filter((key) => key < here).reverse();
  if (keys.length) go(keys[0]);
}

function flip() {
  flipped = !flipped;
  quiz ? draw(quiz.marks) : go(at.index);
  showValue();
  showKeys();
}

// --- what is shown ---------------------------------------------------------------------------------

function showHead() {
  const side = (name, rating, color) =>
    html("span", { class: `player ${color}` }, html("bdi", {}, name), rating ? html("small", {}, ` ${rating}`) : "");
  find("title").replaceChildren(side(game.white, game.whiteElo, "white"), html("span", { class: "score" }, game.result), side(game.black, game.blackElo, "black"));
  find("about").replaceChildren(...game.about.map((text) => html("bdi", {}, text)));
  find("story").replaceChildren(...game.story.split("\n").map((text) => html("p", {}, text)));
  find("story-part").hidden = !game.story;
  const row = (name, cells) => html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((cell) => html("td", {}, cell)));
  const percent = (one) => (one === null ? "–" : `${Math.round(one)} %`);
  const clock = (one) => (one === null ? "–" : minutes(one));
  const rows = [
    ...game.phases.map(([name, ...sides]) => row(TEXTS[name], sides.map(percent))),
    ...game.times.map(([name, ...sides]) => row(TEXTS[name], sides.map(clock))),
    ...game.marks.map(({ mark, moves }) => row(`${LABELS[mark] || mark.length < 3 ? `${mark} ` : ""}${TEXTS[mark]}`, moves.map(stepper))),
  ];
  find("numbers").replaceChildren(
    html("thead", {}, html("tr", {}, html("td"), ...["White", "Black"].map((name) => html("th", { scope: "col" }, TEXTS[name])))),
    html("tbody", {}, row(TEXTS.accuracy, game.accuracy.map(percent)), ...rows),
  );
  find("pgn").textContent = game.pgn;
}

/** Seconds as minutes, or hours. */
function minutes(exact) {
  const seconds = Math.round(exact);
  const [all, rest] = [Math.floor(seconds / 60), String(seconds % 60).padStart(2, "0")];
  return all < 60 ? `${all}:${rest}` : `${Math.floor(all / 60)}:${String(all % 60).padStart(2, "0")}:${rest}`;
}

/** How many moves there are, as a button that goes from one to the next. */
function stepper(moves) {
  if (!moves.length) return "0";
  const click = () => (go(moves.find((one) => one > mainOf(at).index) ?? moves[0]), find("board").scrollIntoView({ block: "nearest" }));
  return html("button", { type: "button", class: "said", onclick: click }, String(moves.length));
}

function showValue() {
  const known = mainOf(at);
  const value = at.value ?? known.value ?? 0;
  find("bar").classList.toggle("flipped", flipped);
  find("share").style.height = `${50 + 50 * value}%`;
  find("bar").setAttribute("title", say("chances", { percent: Math.round(50 + 50 * value) }));
  find("score").textContent = at.text ?? "";
  const cursor = find("cursor");
  const x = (1000 * known.ply) / Math.max(1, game.main.length - 1);
  if (cursor) {
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }
  const graph = find("graph");
  graph.setAttribute("aria-valuenow", known.ply);
  graph.setAttribute("aria-valuetext", `${named(known) || TEXTS.start}: ${known.text ?? TEXTS.no_value}`);
}

function showWords() {
  const label = LABELS[at.glyph];
  const lines = siblings(at).filter((one) => one !== at);
  find("here").replaceChildren(at.index ? named(at) : TEXTS.start, html("span", { class: `glyph ${label ?? ""}` }, at.glyph ?? ""));
  const time = at.spent == null ? "" : ` ${minutes(at.spent)}`;
  find("label").textContent = (at.glyph ? TEXTS[at.glyph] : at.depth ? TEXTS.variation : "") + time;
  find("label").className = `label ${label ?? ""}`;
  find("words").replaceChildren(...linked(at.index ? at.comment : TEXTS.hint, at));
  const ways = [...lines.map((one) => [one.depth > at.depth ? TEXTS.instead : TEXTS.played, one]), ...at.lines.slice(1).map((one) => [TEXTS.next, one])];
  find("answer").textContent = "";
  find("ways").replaceChildren(
    ...(at.quiz ? [html("button", { type: "button", class: "try", onclick: () => ask(at) }, TEXTS.try)] : []),
    ...ways.map(([word, one]) =>
      html("button", { type: "button", class: "way", onclick: () => go(one.index, true) }, html("b", {}, `${word} `), lineOf(one)),
    ),
  );
}

// --- a better move, to be found by the reader -------------------------------------------------------

/** Show the position before a bad move, and not the move. */
function ask(node) {
  go(node.parent);
  quiz = { node, from: "", marks: [] };
  document.body.classList.add("asking");
  draw([]);
  find("here").replaceChildren(`${node.number}?`);
  find("label").textContent = find("score").textContent = "";
  const side = node.number.endsWith("...") ? TEXTS.Black : TEXTS.White;
  find("words").replaceChildren(say("wanted", { side, mark: TEXTS[node.glyph] }));
  find("ways").replaceChildren(html("button", { type: "button", class: "try", onclick: () => go(node.index, true) }, TEXTS.show));
}

/** A click on a square of the position that a better move is wanted in. */
function onSquare(name) {
  const { node, from } = quiz;
  const moves = Object.keys(node.quiz.legal);
  const starts = moves.filter((move) => move.startsWith(name));
  const made = moves.find((move) => from && move.startsWith(from + name));
  if (made) return answer(made);
  quiz.from = starts.length ? name : "";
  quiz.marks = starts.length ? [["Y", name, name], ...[...new Set(starts.map((move) => move.slice(2, 4)))].map((to) => ["B", to, to, 0.45])] : [];
  draw(quiz.marks);
}

/** Whether a move is a good one; then the reason. */
function answer(move) {
  const { node } = quiz;
  const right = node.quiz.good.some((one) => one.slice(0, 4) === move.slice(0, 4));
  const [from, to] = [move.slice(0, 2), move.slice(2, 4)];
  const played = node.san === node.quiz.legal[move];
  const name = node.number + node.quiz.legal[move];
  quiz.from = "";
  quiz.marks = [[right ? "G" : "R", from, to]];
  draw(quiz.marks);
  find("answer").textContent = say(right ? "right" : played ? "was_played" : "wrong", { move: name });
  find("answer").className = right ? "right-answer" : "wrong-answer";
  if (!right) return;
  document.body.classList.remove("asking");
  find("words").replaceChildren(html("b", {}, `${named(node)}${node.glyph}`), " ", ...linked(node.comment ?? "", node));
  const lines = siblings(node).filter((one) => one !== node);
  find("ways").replaceChildren(...lines.map((one) => html("button", { type: "button", class: "way", onclick: () => go(one.index, true) }, html("b", {}, `${TEXTS.instead} `), lineOf(one))));
}

/** The moves of a line in short. */
function lineOf(node, most = 6) {
  const texts = [];
  for (let one = node; one && texts.length < most; one = one.lines[0]) {
    texts.push(texts.length && one.number.endsWith("...") ? one.san : named(one));
  }
  return texts.join(" ");
}

/** A comment whose moves can be clicked where the game or a variation has them. */
function linked(text, node) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(/\d+\.(?:\.\.)?[A-Za-z0][A-Za-z0-9=+#-]*/g)) {
    const found = (game.byName.get(match[0]) ?? []).filter((one) => one !== node);
    if (!found.length) continue;
    const near = found.reduce((best, one) => (Math.abs(one.index - node.index) < Math.abs(best.index - node.index) ? one : best));
    const click = (event) => (event.stopPropagation(), go(near.index, true));
    pieces.push(text.slice(end, match.index), html("button", { type: "button", class: "said", onclick: click }, match[0]));
    end = match.index + match[0].length;
  }
  return [...pieces, text.slice(end)];
}

function showMoves() {
  const list = find("moves");
  list.replaceChildren();
  const places = [list]; // of the game and of the variations within variations
  let fresh = true; // a black move needs its number after words and at the start of a line
  for (const node of game.nodes.slice(1)) {
    const depth = Math.min(node.depth, DEEPEST);
    while (places.length > depth + 1) (places.pop(), (fresh = true));
    if (node.begins && depth) {
      places.length = depth;
      const place = html("div", { class: "variation" });
      places[depth - 1].append(place);
      places.push(place);
      fresh = true;
    }
    const place = places[places.length - 1];
    if (node.before) place.append(html("span", { class: "comment" }, node.before), " ");
    const black = node.number.endsWith("...");
    const label = LABELS[node.glyph] ?? "";
    const shown = !black || fresh ? html("span", { class: "number" }, node.number) : "";
    const name = `${named(node)}${node.glyph ? `, ${TEXTS[node.glyph]}` : ""}`;
    place.append(
      html("button", { type: "button", id: `move-${node.index}`, class: `move ${label}`, "aria-label": name, onclick: () => go(node.index, true) }, shown, node.san, node.glyph ?? ""),
      " ",
    );
    fresh = Boolean(node.comment);
    if (node.comment) place.append(html(depth ? "span" : "p", { class: "comment" }, ...linked(node.comment, node)), " ");
  }
  list.append(html("p", { class: "end" }, game.result));
}

function showKeys() {
  find("keys-part").hidden = !game.keys.length;
  find("keys").replaceChildren(
    ...game.keys.map((index) => {
      const node = game.nodes[index];
      const before = parentOf(node);
      const better = siblings(node).find((one) => one !== node && one.value != null); // a line of others may be worse
      const arrows = [[LABELS[node.glyph] ? "R" : "B", node], ["G", better]].filter(([, one]) => one?.move); // a pass has none
      const marks = arrows.map(([color, one]) => [color, one.move.slice(0, 2), one.move.slice(2)]);
      const board = svg("svg", { class: "diagram", role: "img", "aria-label": `${say("before", { move: named(node) })} ${aloud(before.board)}` });
      drawBoard(board, before.board, { flipped, marks });
      const change = before.text && node.text ? `${before.text} → ${node.text}` : "";
      return html(
        "li",
        {},
        html("button", { type: "button", class: "key", onclick: () => (go(index), find("board").scrollIntoView({ block: "nearest" })) }, board, html("span", { class: "what" }, html("b", {}, named(node), html("span", { class: `glyph ${LABELS[node.glyph] ?? ""}` }, node.glyph ?? "")), html("small", {}, change))),
        html("p", {}, ...linked(node.comment ?? "", node)),
      );
    }),
  );
}

function showGraph() {
  const many = Math.max(1, game.main.length - 1);
  const known = game.main.filter((node) => node.value != null);
  const x = (node) => (1000 * node.ply) / many;
  const y = (node) => 50 - 50 * node.value;
  const points = known.map((node) => `${x(node).toFixed(1)},${y(node).toFixed(1)}`).join(" ");
  const ends = known.length ? [x(known[0]), x(known[known.length - 1])] : [0, 0];
  const dots = known.filter((node) => LABELS[node.glyph]);
  find("graph").replaceChildren(
    svg("rect", { width: 1000, height: 100, class: "black-side" }),
    svg("polygon", { points: `${ends[0]},100 ${points} ${ends[1]},100`, class: "white-side" }),
    svg("line", { x1: 0, x2: 1000, y1: 50, y2: 50, class: "middle" }),
    svg("polyline", { points, class: "curve" }),
    svg("line", { id: "cursor", y1: 0, y2: 100, class: "cursor" }),
  );
  find("dots").replaceChildren(
    ...dots.map((node) => {
      const dot = html("span", { class: `dot ${LABELS[node.glyph]}`, title: `${named(node)}${node.glyph}` });
      dot.style.left = `${x(node) / 10}%`;
      dot.style.top = `${y(node)}%`;
      return dot;
    }),
  );
  find("graph").setAttribute("aria-valuemax", many);
  find("graph-part").hidden = known.length < 2;
}

// --- what is done ----------------------------------------------------------------------------------

function onGraph(event) {
  if (event.type === "pointermove" && !event.buttons) return;
  const box = find("graph").getBoundingClientRect();
  const ply = Math.round(((event.clientX - box.left) / box.width) * (game.main.length - 1));
  go(game.main[Math.max(0, Math.min(game.main.length - 1, ply))].index);
}

const KEYS = { ArrowLeft: back, ArrowRight: next, ArrowUp: () => turn(-1), ArrowDown: () => turn(1), Home: first, End: last, f: flip, n: () => toKey(1), p: () => toKey(-1) };

function onKey(event) {
  const action = KEYS[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

function watchSwipes(board) {
  let start = null;
  board.addEventListener("touchstart", (event) => (start = event.touches.length === 1 ? event.touches[0] : null), { passive: true });
  board.addEventListener("touchend", (event) => {
    if (!start) return;
    const [dx, dy] = [event.changedTouches[0].clientX - start.clientX, event.changedTouches[0].clientY - start.clientY];
    if (Math.abs(dx) > 30 && Math.abs(dx) > 1.5 * Math.abs(dy)) dx < 0 ? next() : back();
  });
}

/** A click on the right half of the board goes on, on the left half back. */
function onBoard(event) {
  const box = find("board").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((one) => Math.min(7, Math.max(0, Math.floor((8 * one) / box.width))));
  if (quiz) return onSquare(nameOf(flipped ? 7 - x + 8 * y : x + 8 * (7 - y)));
  x > 3 ? next() : back();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  find("theme").textContent = theme === "dark" ? TEXTS.light : TEXTS.dark;
}

function changeTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  setTheme(theme);
  try { localStorage.setItem("kibitz-theme", theme); } catch { /* files may have no storage */ }
}

function begin() {
  let theme = null;
  try { theme = localStorage.getItem("kibitz-theme"); } catch { /* as above */ }
  setTheme(theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  const clicks = { first, back, next, last, flip, board: onBoard, theme: changeTheme, "key-back": () => toKey(-1), "key-next": () => toKey(1), print: () => print() };
  for (const [id, action] of Object.entries(clicks)) find(id).addEventListener("click", action);
  for (const kind of ["pointerdown", "pointermove"]) find("graph").addEventListener(kind, onGraph);
  document.addEventListener("keydown", onKey);
  document.querySelectorAll("#games button").forEach((button, index) => button.addEventListener("click", () => open(index + 1)));
  watchSwipes(find("board"));
  const place = () => location.hash.slice(1).split(".").filter(Boolean).map(Number);
  open(...place());
  addEventListener("hashchange", () => open(...place()));
}

begin();
