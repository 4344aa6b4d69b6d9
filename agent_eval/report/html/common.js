/* What both pages share. Data reaches the page as text nodes and as attributes, never as markup. */

function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function svg(tag, options, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function read(name) {
  const block = document.getElementById(name);
  return block ? JSON.parse(block.textContent) : null;
}

const LOOKS = { PASSED: "passed", FAILED: "failed", NOT_EVALUATED: "open", CRASHED: "crashed", INFORMATIONAL: "" };
const WORDS = { PASSED: "passed", FAILED: "failed", NOT_EVALUATED: "not evaluated", CRASHED: "crashed", INFORMATIONAL: "information" };
const SIGNS = { PASSED: "✓", FAILED: "✗", NOT_EVALUATED: "?" };

function chip(verdict) {
  const sign = SIGNS[verdict] ? el("span", { "aria-hidden": "true" }, SIGNS[verdict]) : null;
  return el("span", { class: "chip " + (LOOKS[verdict] || "") }, sign, WORDS[verdict] || verdict);
}

function count(amount, one, many) {
  return amount.toLocaleString("en") + " " + (amount === 1 ? one : many || one + "s");
}

function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 10 ** -(digits + 1)) return value.toExponential(1);
  return value.toFixed(digits);
}

/* A score, with as many digits as tell it from its threshold. */
function against(score, threshold) {
  if (threshold === null || threshold === undefined) return number(score);
  let digits = 2;
  while (score !== null && score !== threshold && digits < 16 && number(score, digits) === number(threshold, digits)) digits += 1;
  return number(score, digits) + " / " + number(threshold);
}

function duration(seconds) {
  if (seconds < 1) return (seconds * 1000).toFixed(0) + " ms";
  if (seconds < 60) return seconds.toFixed(1) + " s";
  const whole = Math.round(seconds);
  if (whole < 3600) return Math.floor(whole / 60) + " min " + String(whole % 60).padStart(2, "0") + " s";
  return Math.floor(whole / 3600) + " h " + String(Math.floor((whole % 3600) / 60)).padStart(2, "0") + " min";
}

/* The theme is the system's until the reader chooses another. */
const THEMES = ["auto", "light", "dark"];
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";
try { theme = localStorage.getItem("agent-eval-theme") || "auto"; } catch { /* a page without storage */ }

function applyTheme() {
  const dark = theme === "dark" || (theme === "auto" && systemIsDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
systemIsDark.addEventListener("change", applyTheme);
applyTheme();

function themeButton() {
  const button = el("button", {
    class: "theme", type: "button",
    onclick() {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      try { localStorage.setItem("agent-eval-theme", theme); } catch { /* it holds until the page is closed */ }
      applyTheme();
      label();
    },
  });
  function label() {
    button.textContent = "Theme: " + theme;
  }
  label();
  return button;
}

function top(title, subtitle) {
  return el("header", { class: "top" },
    el("div", {}, el("p", { class: "brand" }, "agent-eval"), el("h1", { dir: "auto" }, title), el("p", { class: "muted" }, subtitle)),
    themeButton());
}

/* Buttons of which one is pressed; `choices` are [value, label, amount]. */
function filters(label, choices, chosen, choose) {
  const group = el("div", { class: "filters", role: "group", "aria-label": label });
  for (const [value, text, amount] of choices) {
    const button = el("button", { class: "filter", type: "button", "aria-pressed": String(value === chosen) },
      text + " " + amount.toLocaleString("en"));
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      choose(value);
    });
    group.append(button);
  }
  return group;
}

function searchField(label, changed) {
  const field = el("input", { class: "search", type: "search", placeholder: label, "aria-label": label });
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => changed(field.value.trim().toLowerCase()), 120);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
  });
  return field;
}

function rateDrawing(rate, interval) {
  const x = (value) => String(2 + value * 96);
  const drawing = svg("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { class: "track", x1: x(0), x2: x(1), y1: 7, y2: 7 }));
  if (interval) drawing.append(svg("line", { class: "interval", x1: x(interval[0]), x2: x(interval[1]), y1: 7, y2: 7 }));
  if (rate !== null && rate !== undefined) drawing.append(svg("rect", { class: "at", x: rate * 96 + 0.8, width: 2.4, y: 1.5, height: 11 }));
  return drawing;
}

/* Rows are made a few at a time, so that a long list opens at once and is whole soon after. */
const FIRST_ROWS = 60;
const MORE_ROWS = 150;

function fill(list, items, make, done) {
  let next = 0;
  const turn = (fill.turn = (fill.turn || 0) + 1);
  function add(amount) {
    const fragment = document.createDocumentFragment();
    for (const end = Math.min(next + amount, items.length); next < end; next += 1) fragment.append(make(items[next]));
    list.append(fragment);
  }
  function rest() {
    if (turn !== fill.turn) return;
    add(MORE_ROWS);
    if (next < items.length) setTimeout(rest, 16);
    else done();
  }
  list.replaceChildren();
  add(FIRST_ROWS);
  if (next < items.length) setTimeout(rest, 60);
  else done();
  fill.all = () => { add(items.length); done(); };
}
addEventListener("beforeprint", () => fill.all && fill.all());
