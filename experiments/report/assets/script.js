"use strict";
// Which data set, connections and metric are shown; sorting; filtering; loss curves.

const CURVES = JSON.parse(document.getElementById("curves").textContent);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// ---- light and dark -------------------------------------------------------------------

const root = document.documentElement;
const stored = {
  // A page opened from a file may have no storage.
  get() { try { return localStorage.getItem("theme"); } catch { return null; } },
  set(value) { try { localStorage.setItem("theme", value); } catch { /* not kept */ } },
};
if (stored.get()) root.dataset.theme = stored.get();
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  stored.set(root.dataset.theme);
});

// ---- choosing and filtering -----------------------------------------------------------

const tools = document.getElementById("tools");
const search = tools.querySelector("input[type=search]");
const trainedOnly = tools.querySelector("input[type=checkbox]");
const plain = (text) => text.toLowerCase().replaceAll("×", "x");

function choice(name) {
  return tools.querySelector(`input[name=${name}]:checked`).value;
}

function show() {
  const chosen = { dataset: choice("dataset"), kind: choice("kind"), metric: choice("metric") };
  for (const part of all("[data-dataset]")) {
    part.hidden = Object.entries(chosen).some(
      ([name, value]) => part.dataset[name] && part.dataset[name] !== value);
  }
  const words = plain(search.value).split(/\s+/).filter(Boolean);
  for (const table of all("table.results:not(.words)")) {
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = plain(row.dataset.words);
      row.hidden = (trainedOnly.checked && !row.dataset.trained)
        || !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const part = table.closest(".part");
    part.querySelector(".empty").hidden = shown > 0;
    part.querySelector(".scroll").hidden = shown === 0;
  }
}

function follow() {
  // A link to a table that is not shown chooses it.
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || !target.dataset.dataset) return;
  for (const name of ["dataset", "kind", "metric"]) {
    const value = target.dataset[name];
    const input = value && tools.querySelector(`input[name=${name}][value=${value}]`);
    if (input) input.checked = true;
  }
  show();
  target.scrollIntoView();
}

tools.addEventListener("input", show);
addEventListener("hashchange", follow);

// ---- sorting --------------------------------------------------------------------------

function compare(a, b) {
  const [x, y] = [Number(a), Number(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

function sort(header) {
  const rising = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentElement.cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const body = header.closest("table").tBodies[0];
  const value = (row) => row.cells[header.cellIndex].dataset.sort;
  const rows = [...body.rows];
  const known = rows.filter((row) => value(row) !== undefined);
  known.sort((a, b) => (rising ? 1 : -1) * compare(value(a), value(b)));
  // What is not known comes last, whichever way.
  body.append(...known, ...rows.filter((row) => value(row) === undefined));
}

for (const button of all("th button.sort")) {
  button.addEventListener("click", () => sort(button.parentElement));
}

// ---- loss curves ----------------------------------------------------------------------

const peek = document.getElementById("peek");
let shownFor = null;
const SIZE = { width: 420, height: 230, left: 46, right: 8, top: 8, bottom: 30 };

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return [found, Math.max(0, -Math.floor(Math.log10(step)))];
}

function chart(curves) {
  const { width, height, left, right, top, bottom } = SIZE;
  const epochs = Math.max(2, ...curves.map((c) => c.median.length));
  let low = Math.min(...curves.flatMap((c) => c.low)) / CURVES.scale;
  let high = Math.max(...curves.flatMap((c) => c.high)) / CURVES.scale;
  if (high - low < 1e-4) [low, high] = [low - 1e-4, high + 1e-4];
  const x = (epoch) => left + (width - left - right) * (epoch - 1) / (epochs - 1);
  const y = (loss) => top + (height - top - bottom) * (high - loss) / (high - low);
  const point = (value, k) => `${x(k + 1).toFixed(1)},${y(value / CURVES.scale).toFixed(1)}`;
  const svg = element("svg", { viewBox: `0 0 ${width} ${height}` });
  const [losses, digits] = ticks(low, high, 5);
  for (const loss of losses) {
    svg.append(
      element("line", { x1: left, x2: width - right, y1: y(loss), y2: y(loss), stroke: "var(--line)" }),
      element("text", { x: left - 5, y: y(loss) + 4, "text-anchor": "end", "font-size": 11, fill: "var(--muted)" }, loss.toFixed(digits)));
  }
  for (const epoch of ticks(1, epochs, 6)[0].filter(Number.isInteger)) {
    svg.append(element("text", { x: x(epoch), y: height - bottom + 14, "text-anchor": "middle", "font-size": 11, fill: "var(--muted)" }, epoch));
  }
  svg.append(element("text", { x: width / 2, y: height - 3, "text-anchor": "middle", "font-size": 11, fill: "var(--muted)" }, "epoch"));
  for (const curve of curves) {
    const colour = `var(--${curve.colour})`;
    const band = [...curve.low.map(point), ...curve.high.map(point).reverse()].join(" ");
    svg.append(element("polygon", { points: band, fill: colour, opacity: 0.18 }));
  }
  for (const curve of curves) {
    const line = { points: curve.median.map(point).join(" "), fill: "none", stroke: `var(--${curve.colour})`, "stroke-width": 2 };
    svg.append(element("polyline", line));
  }
  const relu = curves.find((c) => c.colour === "act-relu");
  if (relu && curves.length > 1) {
    const final = y(relu.median.at(-1) / CURVES.scale);
    svg.append(element("line", { x1: left, x2: width - right, y1: final, y2: final, stroke: "var(--act-relu)", "stroke-dasharray": "4 4" }));
  }
  return svg;
}

function keys(curves) {
  const list = document.createElement("div");
  list.className = "keys";
  for (const curve of curves) {
    const key = document.createElement("span");
    const mark = document.createElement("i");
    mark.style.background = `var(--${curve.colour})`;
    key.append(mark, curve.label);
    list.append(key);
  }
  return list;
}

function open(target) {
  const curves = target.dataset.curves.split(" ").map((name) => CURVES.cells[name]).filter(Boolean);
  if (!curves.length) return;
  const title = document.createElement("div");
  title.textContent = "Training loss: median over seeds, band from lowest to highest";
  peek.replaceChildren(title, chart(curves), keys(curves));
  peek.hidden = false;
  shownFor = target;
  const box = target.getBoundingClientRect();
  const own = peek.getBoundingClientRect();
  const below = box.bottom + own.height + 12 < innerHeight || box.top < own.height + 12;
  const left = Math.min(Math.max(6, box.left), document.documentElement.clientWidth - own.width - 6);
  peek.style.left = `${left + scrollX}px`;
  peek.style.top = `${(below ? box.bottom + 6 : box.top - own.height - 6) + scrollY}px`;
}

function close() {
  peek.hidden = true;
}

for (const point of all("g[id*='-point--']")) {
  point.dataset.curves = point.id.split("-point--")[1];
}
document.addEventListener("mouseover", (event) => {
  const target = event.target.closest("[data-curves]");
  if (target) open(target);
  // Scrolling to what has the focus moves the page under a mouse at rest, which is not
  // the mouse going away.
  else if (shownFor !== document.activeElement) close();
});
document.addEventListener("focusout", close);
document.addEventListener("focusin", (event) => {
  if (event.target.matches("[data-curves]")) open(event.target);
  else close();
});
document.addEventListener("click", (event) => {
  // On a touch screen there is neither hover nor, on Safari, focus.
  const target = event.target.closest("[data-curves]");
  if (target) open(target);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
});

show();
follow();
