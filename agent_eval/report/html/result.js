/* The page of results: the list is made from the index; what a case holds is read when it is opened. */

const data = read("index");
const results = data.results;
const cases = data.cases.map((one, place) => ({ ...one, place }));
const several = results.length > 1;
const single = cases.every((one) => one.attempts <= 1);
const state = { verdict: "all", set: "all", sort: "order", sought: "" };

/* ---- the summary ---- */

function total(name) {
  return results.reduce((sum, result) => sum + (result.totals[name] || 0), 0);
}

function stat(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function summary() {
  const [passed, failed, open] = [total("passed"), total("failed"), total("not_evaluated")];
  const bar = el("div", { class: "bar", "aria-hidden": "true" });
  for (const [look, amount] of [["passed", passed], ["failed", failed], ["open", open]]) {
    if (!amount) continue;
    const part = el("span", { class: look });
    part.style.flex = String(amount);
    bar.append(part);
  }
  const stats = el("dl", { class: "stats" }, stat("Passed", passed), stat("Failed", failed), stat("Not evaluated", open));
  if (total("flaky")) stats.append(stat("Flaky", total("flaky")));
  if (total("crashed_runs")) stats.append(stat("Crashed runs", total("crashed_runs")));
  if (total("saved_runs")) stats.append(stat("Runs saved", total("saved_runs")));
  stats.append(stat("Runs", cases.reduce((sum, one) => sum + one.attempts, 0).toLocaleString("en")));
  stats.append(stat("Time", duration(total("duration_seconds"))));
  const tokens = results.reduce((sum, result) => sum + Object.values(result.totals.tokens || {}).reduce((a, b) => a + b, 0), 0);
  if (tokens) stats.append(stat("Tokens", tokens.toLocaleString("en")));
  const judges = results.flatMap((result) => result.totals.judges || []);
  if (judges.length) {
    stats.append(stat("Judge calls", judges.reduce((sum, judge) => sum + judge.requests, 0).toLocaleString("en")));
    const costs = judges.filter((judge) => typeof judge.cost === "number");
    if (costs.length) stats.append(stat("Judge cost", number(costs.reduce((sum, judge) => sum + judge.cost, 0), 4)));
  }
  const card = el("section", { class: "card", "aria-label": "Summary" },
    el("p", { class: "headline" }, passed === cases.length ? (cases.length === 1 ? "The case passed" : "All " + count(passed, "case") + " passed")
      : passed.toLocaleString("en") + " of " + count(cases.length, "case") + " passed"),
    bar, stats);
  for (const result of results) {
    const which = several ? result.evalSet + ": " : "";
    for (const warning of result.warnings) card.append(el("p", { class: "callout", dir: "auto" }, which + warning));
    if (result.stopped) card.append(el("p", { class: "callout", dir: "auto" }, which + result.stopped));
    if (result.causes.length) {
      card.append(el("div", { class: "callout" }, el("h2", {}, which + "What the cases have in common"), causeList(result.causes, 0)));
    }
  }
  for (const result of results) {
    card.append(el("details", { class: "facts" }, el("summary", { class: "muted small" }, several ? result.evalSet + ": how it was made" : "How it was made"),
      el("dl", {}, result.facts.map(([name, text]) => [el("dt", {}, name), el("dd", { class: "mono" }, text)]))));
  }
  return card;
}

const MAX_CHARTS = 4; // more of them would push the cases out of sight

function distributions() {
  const drawn = results.flatMap((result) => result.distributions.map((one) => distribution(one, several ? result.evalSet : "")));
  if (!drawn.length) return null;
  const charts = el("div", { class: "distributions" }, drawn);
  return el("section", { class: "card", "aria-label": "Scores" }, drawn.length <= MAX_CHARTS ? charts
    : el("details", {}, el("summary", { class: "muted small" }, "How the scores of " + count(drawn.length, "metric") + " are distributed"), charts));
}

function distribution(one, set) {
  const [width, height, foot] = [250, 70, 56];
  const most = Math.max(1, ...one.bins.map((bin) => bin.passed + bin.failed));
  const step = width / one.bins.length;
  const said = count(one.scored, "score") + " from " + number(one.low) + " to " + number(one.high)
    + ", " + one.bins.reduce((sum, bin) => sum + bin.passed, 0) + " passed" + (one.unscored ? ", " + one.unscored + " without a score" : "");
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMid meet", role: "img", "aria-label": said });
  one.bins.forEach((bin, place) => {
    let top = foot;
    for (const look of ["passed", "failed"]) {
      if (!bin[look]) continue;
      const tall = Math.max(2, (bin[look] / most) * (foot - 6));
      top -= tall;
      drawing.append(svg("rect", { class: look, x: place * step + 1, y: top, width: step - 2, height: tall, rx: 1 }));
    }
  });
  drawing.append(svg("line", { class: "axis", x1: 0, x2: width, y1: foot + 0.5, y2: foot + 0.5 }));
  const at = (value) => ((value - one.low) / (one.high - one.low)) * width;
  if (one.threshold !== null && one.threshold >= one.low && one.threshold <= one.high) {
    const x = Math.min(at(one.threshold), width - 1);
    drawing.append(svg("line", { class: "threshold", x1: x, x2: x, y1: 0, y2: foot }));
  }
  const low = svg("text", { x: 0, y: height });
  low.append(number(one.low, one.low === 0 ? 0 : 1));
  const high = svg("text", { x: width, y: height, "text-anchor": "end" });
  high.append(number(one.high, one.high === 1 ? 0 : 1));
  drawing.append(low, high);
  return el("figure", { class: "distribution" },
    el("h3", {}, (set ? set + ": " : "") + one.name), drawing,
    el("figcaption", { class: "muted small" }, count(one.scored, "score")
      + (one.threshold === null ? "" : ", threshold " + number(one.threshold)) + (one.unscored ? ", " + one.unscored + " without" : "")));
}

/* ---- the list ---- */

const VERDICT_ORDER = ["FAILED", "NOT_EVALUATED", "PASSED"];
const SORTS = {
  order: ["In the set's order", (a, b) => a.place - b.place],
  verdict: ["Failed first", (a, b) => VERDICT_ORDER.indexOf(a.verdict) - VERDICT_ORDER.indexOf(b.verdict) || a.place - b.place],
  rate: ["Lowest pass rate", (a, b) => (a.rate ?? -1) - (b.rate ?? -1) || a.place - b.place],
  time: ["Slowest", (a, b) => b.seconds - a.seconds],
};

/* A search looks at everything that is embedded, as it stands in the page. */
function holds(one, sought) {
  if (one.id.toLowerCase().includes(sought)) return true;
  const asJson = JSON.stringify(sought).slice(1, -1).replace(/[<>&]/g, (sign) => "\\u00" + sign.charCodeAt(0).toString(16));
  return document.getElementById("case-" + one.place).textContent.toLowerCase().includes(asJson);
}

function shown() {
  return cases.filter((one) => (state.verdict === "all" || (state.verdict === "flaky" ? one.flaky : one.verdict === state.verdict))
    && (state.set === "all" || String(one.result) === state.set)
    && (!state.sought || holds(one, state.sought))).sort(SORTS[state.sort][1]);
}

const list = el("ul", { class: single ? "list single" : "list", "aria-label": "Cases" });
const counted = el("p", { class: "count", role: "status" });

function show() {
  const found = shown();
  counted.textContent = found.length === cases.length ? count(found.length, "case") : found.length.toLocaleString("en") + " of " + count(cases.length, "case");
  delete document.documentElement.dataset.ready;
  fill(list, found, row, () => { document.documentElement.dataset.ready = "true"; });
  if (!found.length) list.append(el("li", { class: "empty" }, "No case is like that."));
}

function pick(label, choices, changed) {
  const field = el("select", { class: "pick", "aria-label": label }, choices.map(([value, text]) => el("option", { value }, text)));
  field.addEventListener("change", () => changed(field.value));
  return field;
}

function tools() {
  const amount = (test) => cases.filter(test).length;
  const choices = [["all", "All", cases.length], ...[["FAILED", "Failed"], ["NOT_EVALUATED", "Not evaluated"], ["PASSED", "Passed"]]
    .map(([verdict, label]) => [verdict, label, amount((one) => one.verdict === verdict)])];
  if (amount((one) => one.flaky)) choices.push(["flaky", "Flaky", amount((one) => one.flaky)]);
  return el("div", { class: "tools", id: "cases", tabindex: "-1", role: "search" },
    searchField("Search cases and conversations (press /)", (text) => { state.sought = text; show(); }),
    filters("Verdict", choices.filter(([value, , many]) => value === "all" || many), state.verdict, (value) => { state.verdict = value; show(); }),
    several ? pick("Eval set", [["all", "All eval sets"], ...results.map((result, place) => [String(place), result.evalSet])], (value) => { state.set = value; show(); }) : null,
    pick("Order", Object.entries(SORTS).map(([value, [label]]) => [value, label]), (value) => { state.sort = value; show(); }),
    counted);
}

function strip(one) {
  const words = one.runs.map(([index, status]) => "run " + (index + 1) + " " + WORDS[status]).join(", ");
  return el("span", { class: "strip", role: "img", "aria-label": words || "no runs", title: words },
    one.runs.map(([, status]) => el("span", { class: "square " + LOOKS[status] })));
}

function rate(one) {
  if (one.rate === null) return el("span", { class: "rate muted" }, one.crashed ? "0/0" : "–", el("span", {}, one.crashed ? one.crashed + " crashed" : ""));
  const interval = one.interval ? ", 95 % between " + number(one.interval[0]) + " and " + number(one.interval[1]) : "";
  const text = one.passed + "/" + one.scored + (one.crashed ? " +" + one.crashed + "✗" : "");
  const words = one.passed + " of " + one.scored + " runs passed" + interval + (one.crashed ? ", " + one.crashed + " crashed" : "");
  return el("span", { class: "rate", title: words }, el("span", { "aria-hidden": "true" }, text),
    rateDrawing(one.rate, one.interval), el("span", { class: "visually-hidden" }, words));
}

function row(one) {
  const scores = el("span", { class: "scores" }, one.metrics.map(([name, score, threshold, status]) =>
    el("span", {}, el("b", { class: LOOKS[status] }, (SIGNS[status] || "") + " " + against(score, threshold)), " " + name)));
  const head = el("button", { class: "head", type: "button", "aria-expanded": "false" },
    el("span", { class: "verdicts" }, chip(one.verdict), one.flaky ? el("span", { class: "chip flaky" }, "flaky") : null),
    el("span", { class: "name", dir: "auto" }, one.id, several ? el("span", { class: "set" }, results[one.result].evalSet) : null),
    strip(one), single ? null : rate(one), scores,
    el("span", { class: "time" }, duration(one.seconds)));
  const item = el("li", { class: "row" }, head);
  head.addEventListener("click", () => toggle(one, item, head));
  head.addEventListener("keydown", (event) => {
    const next = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
    if (next && next.querySelector(".head")) {
      event.preventDefault();
      next.querySelector(".head").focus();
    }
  });
  one.open = () => { if (head.getAttribute("aria-expanded") === "false") head.click(); item.scrollIntoView(); head.focus({ preventScroll: true }); };
  return item;
}

function toggle(one, item, head) {
  const open = head.getAttribute("aria-expanded") === "true";
  head.setAttribute("aria-expanded", String(!open));
  if (open) {
    item.querySelector(".body").remove();
    head.removeAttribute("aria-controls");
    return;
  }
  const name = "body-" + one.place;
  item.append(el("div", { class: "body", id: name, role: "region", "aria-label": one.id }, details(one)));
  head.setAttribute("aria-controls", name);
  try { history.replaceState(null, "", "#" + address(one)); } catch { /* a page without an address */ }
}

function address(one) {
  return "case=" + encodeURIComponent((several ? results[one.result].evalSet + "/" : "") + one.id);
}

/* ---- a case ---- */

function details(one) {
  const { case: told, runs } = read("case-" + one.place);
  return [why(one, told), metricTable(one, told), runPanel(one, told, runs)];
}

function causeList(causes, attempts) {
  return el("ul", { class: "causes" }, causes.map((cause) => el("li", { class: "cause" },
    el("div", { class: "seen", dir: "auto" }, el("span", { class: "code" }, cause.code), " ", cause.seen,
      cause.runs.length && cause.runs.length < attempts ? el("span", { class: "muted" }, " (run " + cause.runs.join(", ") + " of " + attempts + ")") : null),
    el("div", { class: "change", dir: "auto" }, el("b", {}, "Change: "), cause.change))));
}

function why(one, told) {
  const found = told.reasons.map((reason) => finding(reason, [], one));
  const errors = new Map();
  for (const [index, error] of Object.entries(told.errors)) {
    const line = error.type + ": " + error.message;
    errors.set(line, [...(errors.get(line) || []), Number(index) + 1]);
  }
  for (const [line, numbers] of errors) {
    found.push(finding((one.attempts > 1 ? "Run " + numbers.join(", ") : "The run") + " crashed: " + line, [], one));
  }
  if (told.causes.length) found.push(el("li", {}, causeList(told.causes, one.attempts)));
  for (const metric of told.metrics) {
    if (metric.status === "FAILED") found.push(finding(metric.name + "  " + against(metric.score, metric.threshold), metric.causes, one));
    else if (metric.status === "NOT_EVALUATED" && one.crashed < one.attempts) found.push(finding(metric.name + ": " + (metric.reason || "no score"), metric.causes, one));
  }
  return found.length ? el("section", {}, el("h3", {}, "Why, and what to change"), el("ul", { class: "findings" }, found)) : null;
}

function finding(line, causes, one) {
  return el("li", { class: "finding" }, el("div", { class: "line", dir: "auto" }, line), causes.length ? causeList(causes, one.attempts) : null);
}

function metricTable(one, told) {
  const gates = (metric) => metric.status !== "INFORMATIONAL";
  const rows = [...told.metrics.filter(gates), ...told.metrics.filter((metric) => !gates(metric))].map((metric) => el("tr", {},
    el("th", { scope: "row" }, metric.name),
    el("td", { class: "number" }, gates(metric) ? el("b", { class: LOOKS[metric.status] }, SIGNS[metric.status] + " " + against(metric.score, metric.threshold)) : information(metric, metric.score)),
    el("td", { class: "number" }, metric.perRun.map((score) => gates(metric) ? number(score) : information(metric, score)).join(", ")),
    el("td", { class: "number" }, metric.scored === null ? "" : metric.passed + "/" + metric.scored),
    el("td", {}, metric.method || ""),
    el("td", { class: "wide" }, [metric.reason, ...metric.warnings].filter(Boolean).join("; "))));
  const more = [];
  if (one.interval && one.attempts > 1) more.push("95 % between " + number(one.interval[0]) + " and " + number(one.interval[1]));
  if (told.requiredPassRate !== null && told.requiredPassRate !== undefined) more.push("pass rate asked for: " + number(told.requiredPassRate));
  if (typeof told.passHatK === "number") more.push("pass^" + one.attempts + " " + number(told.passHatK));
  if (typeof told.passAtK === "number") more.push("pass@" + one.attempts + " " + number(told.passAtK));
  if (told.saved) more.push(count(told.saved, "run") + " not made, since the verdict stood");
  if (told.retries) more.push(told.retries + " crashed and tried again");
  const [runsHead, passedHead] = one.attempts > 1 ? ["Runs", "Passed"] : ["Run", "Passed"];
  return el("section", {}, el("h3", {}, "Metrics"),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Metric", "Score / threshold", runsHead, passedHead, "Over runs", "Notes"].map((name, place) =>
        el("th", { scope: "col", class: place > 0 && place < 4 ? "number" : null }, name)))),
      el("tbody", {}, rows))),
    more.length ? el("p", { class: "muted small" }, more.join("; ")) : null);
}

function information(metric, score) {
  if (score === null || score === undefined) return "–";
  if (metric.name === "invocation_duration_v1") return duration(score);
  return Number.isInteger(score) ? score.toLocaleString("en") : number(score);
}

/* ---- runs ---- */

function runPanel(one, told, runs) {
  if (!one.runs.length) return el("p", { class: "muted" }, "No run was made.");
  const panel = el("div", { class: "run", role: "tabpanel", id: "run-" + one.place, tabindex: "-1" });
  const worst = one.runs.find(([, status]) => status !== "PASSED") || one.runs[0];
  const tabs = one.runs.map(([index, status]) => {
    const tab = el("button", { class: "tab", type: "button", role: "tab", id: "tab-" + one.place + "-" + index, "aria-controls": "run-" + one.place },
      el("span", { class: "square " + LOOKS[status], "aria-hidden": "true" }), "Run " + (index + 1), el("span", { class: "visually-hidden" }, " " + WORDS[status]));
    tab.addEventListener("click", () => choose(index));
    return [index, tab];
  });
  function choose(index) {
    for (const [other, tab] of tabs) {
      tab.setAttribute("aria-selected", String(other === index));
      tab.tabIndex = other === index ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", "tab-" + one.place + "-" + index);
    const run = runs[index];
    const path = results[one.result].path;
    panel.replaceChildren(...(run ? runContent(run, path) : [el("p", { class: "callout" }, "This run is left out, to keep the page small or because its journal is missing. Look for it in " + path + ".")]));
  }
  const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Runs" }, tabs.map(([, tab]) => tab));
  bar.addEventListener("keydown", (event) => {
    const place = tabs.findIndex(([, tab]) => tab === document.activeElement);
    const next = tabs[place + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0)];
    if (place >= 0 && next && next !== tabs[place]) {
      choose(next[0]);
      next[1].focus();
    }
  });
  choose(worst[0]);
  return el("section", {}, el("h3", {}, one.runs.length > 1 ? "Runs" : "Run"), one.runs.length > 1 ? bar : el("div", { hidden: true }, bar), panel);
}

function runContent(run, path) {
  const parts = [];
  parts.push(el("p", { class: "muted small" }, duration(run.seconds) + ", started " + run.started
    + (run.attempts.length ? "; tried again after " + run.attempts.map((error) => error.type + ": " + error.message).join("; ") : "")));
  if (run.simulation && run.simulation.plan) parts.push(el("details", {}, el("summary", { class: "small muted" }, "What the simulated user was to do"), el("div", { class: "bubble aside said", dir: "auto" }, run.simulation.plan)));
  if (run.context.length) {
    parts.push(el("details", {}, el("summary", { class: "small muted" }, count(run.context.length + run.contextLeftOut, "turn") + " before those that count"),
      run.contextLeftOut ? el("p", { class: "callout" }, count(run.contextLeftOut, "earlier turn") + " left out, to keep the page small: see " + path + ".") : null,
      el("div", { class: "turns" }, run.context.map((turn) => el("article", { class: "turn" }, talk(turn))))));
  }
  parts.push(el("div", { class: "turns" }, run.turns.map((turn, place) => turnContent(turn, place, run.turns.length))));
  if (run.turnsLeftOut) parts.push(el("p", { class: "callout" }, count(run.turnsLeftOut, "more turn") + " left out, to keep the page small: see " + path + "."));
  if (run.simulation && run.simulation.stoppedBy) {
    parts.push(el("p", { class: "muted small" }, "The conversation was ended by: " + run.simulation.stoppedBy
      + (run.simulation.requests ? "; the user was played by " + run.simulation.model + ", " + count(run.simulation.requests, "call") : "")));
  }
  if (run.error) parts.push(crash("Crashed", run.error));
  const judged = run.metrics.filter((metric) => metric.reason || metric.error || metric.rubrics.length || metric.warnings.length);
  if (judged.length) parts.push(el("div", {}, el("h3", {}, "Over the whole run"), el("ul", { class: "judged" }, judged.map(judgement))));
  if (run.expectedState) parts.push(el("details", {}, el("summary", { class: "small muted" }, "Session state that is expected"), el("pre", { class: "mono", tabindex: "0" }, run.expectedState)));
  if (run.state) parts.push(el("details", {}, el("summary", { class: "small muted" }, "Session state at the end"), el("pre", { class: "mono", tabindex: "0" }, run.state)));
  return parts;
}

function crash(what, error) {
  return el("div", { class: "crash" }, el("div", { class: "line" }, what + ": " + error.type + ": " + error.message),
    error.traceback ? el("details", { open: true }, el("summary", { class: "small" }, "Traceback"), el("pre", { class: "mono", tabindex: "0" }, error.traceback)) : null);
}

function turnContent(turn, place, turns) {
  const parts = [];
  if (turns > 1 || turn.seconds !== null) {
    parts.push(el("div", { class: "turn-title" }, "Turn " + (place + 1), turn.seconds === null ? null : el("span", {}, duration(turn.seconds))));
  }
  parts.push(...talk(turn));
  if (turn.expected) parts.push(expectation(turn));
  const scored = turn.scores.filter((score) => score.status !== "INFORMATIONAL");
  if (scored.length) parts.push(el("ul", { class: "judged" }, scored.map(judgement)));
  return el("article", { class: "turn", "aria-label": "Turn " + (place + 1) }, parts);
}

function talk(turn) {
  return [bubble("user", "User", turn.user || "(no text)"), ...turn.steps.map(step),
    turn.answer ? bubble("agent", "Agent", turn.answer) : el("div", { class: "bubble aside" }, "(no final text)")];
}

function bubble(look, who, text) {
  return el("div", { class: "bubble " + look }, el("span", { class: "who" }, who), el("div", { class: "said", dir: "auto" }, text));
}

function step(one) {
  if (one.kind !== "call") {
    const names = { said: one.author, thought: one.author + ", thinking", code: one.author + ", code", output: one.author + ", output of code", incident: one.author + " reported" };
    return el("div", { class: "bubble aside" }, el("span", { class: "who" }, names[one.kind]),
      el("div", { class: one.kind === "code" || one.kind === "output" ? "mono" : "said", dir: "auto" }, one.text));
  }
  return el("details", { class: "call" },
    el("summary", {}, el("span", { class: "mono" }, "⚙ " + one.name + "(" + brief(one.args) + ")"), one.mocked ? el("span", { class: "muted small" }, " mocked") : null),
    el("div", {}, el("h3", {}, "Arguments"), el("pre", { class: "mono", tabindex: "0" }, one.args),
      el("h3", {}, "Result"), one.response === null ? el("p", { class: "muted small" }, "none was recorded") : el("pre", { class: "mono", tabindex: "0" }, one.response)));
}

function brief(args) {
  const line = args.replace(/^\{\s*|\s*\}$/g, "").replace(/\s*\n\s*/g, " ");
  return line.length > 90 ? line.slice(0, 89) + "…" : line;
}

function judgement(one) {
  const failed = one.rubrics.filter((rubric) => rubric.score === null || rubric.score < 1);
  const told = [
    el("span", { class: "word " + LOOKS[one.status] }, (SIGNS[one.status] ? SIGNS[one.status] + " " : "") + one.name + " " + against(one.score, one.threshold)),
    one.reason ? el("div", { class: "said", dir: "auto" }, one.reason) : null,
    one.rationale ? el("div", { class: "why said", dir: "auto" }, one.rationale) : null,
  ];
  if (one.rubrics.length) {
    told.push(el("details", { open: failed.length > 0 }, el("summary", { class: "small" }, count(one.rubrics.length, "rubric") + (failed.length ? ", " + failed.length + " not met" : ", all met")),
      el("ul", { class: "rubrics" }, one.rubrics.map((rubric) => el("li", {},
        el("b", { class: rubric.score === null ? "open" : rubric.score < 1 ? "failed" : "passed" }, rubric.id + ": " + (rubric.score === null ? "unanswered" : rubric.score < 1 ? "no" : "yes")),
        rubric.rationale ? el("div", { class: "why said", dir: "auto" }, rubric.rationale) : null)))));
  }
  for (const warning of one.warnings || []) told.push(el("div", { class: "word open" }, warning));
  if (one.judge && one.judge.model) told.push(el("div", { class: "muted small" }, "judged by " + one.judge.model + ", " + count(one.judge.requests, "call") + (one.judge.cached ? ", " + one.judge.cached + " from the cache" : "")));
  if (one.error) told.push(crash("Raised", one.error));
  return el("li", {}, told);
}

/* ---- expected beside actual ---- */

function expectation(turn) {
  const wanted = turn.expected;
  const callsAgree = !wanted.calls || wanted.calls.every((one) => one.mark === "same" || (one.mark === "extra" && wanted.mayCallMore));
  const textAgrees = wanted.answer === null || wanted.answer === turn.answer;
  if (callsAgree && textAgrees) return el("p", { class: "agrees" }, "✓ as expected");
  const pairs = [];
  if (!callsAgree) {
    for (const one of wanted.calls) {
      const [left, right] = one.mark === "altered" ? marked(callText(one.expected), callText(one.made)) : [[], []];
      pairs.push(pair(
        one.expected === null ? gap(wanted.mayCallMore ? "not expected, and allowed" : "no call expected here") : callCell(one.expected, one.mark === "altered" ? left : one.mark === "missing" ? [el("del", {}, callText(one.expected))] : null),
        one.made === null ? gap("not called") : callCell(one.made, one.mark === "altered" ? right : one.mark === "extra" ? [el("ins", {}, callText(one.made))] : null)));
    }
  }
  if (!textAgrees) {
    const [left, right] = marked(wanted.answer, turn.answer);
    pairs.push(pair(el("div", { class: "said", dir: "auto" }, wanted.answer ? left : gap("no text")), el("div", { class: "said", dir: "auto" }, turn.answer ? right : gap("no final text"))));
  }
  return el("div", { class: "compare", role: "group", "aria-label": "Expected beside actual" },
    el("div", { class: "pair titles" }, el("div", {}, "Expected"), el("div", {}, "Actual")), pairs);
}

function pair(left, right) {
  return el("div", { class: "pair" }, el("div", { "data-side": "Expected" }, left), el("div", { "data-side": "Actual" }, right));
}

function gap(text) {
  return el("span", { class: "gap" }, text);
}

function callText(call) {
  return call.name + (call.args === "{}" ? "()" : " " + call.args);
}

function callCell(call, parts) {
  return el("div", { class: "mono" }, parts || callText(call));
}

const MAX_COMPARED = 400000;
const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

function words(text) {
  return segmenter ? Array.from(segmenter.segment(text), (one) => one.segment) : text.split(/(\s+)/).filter(Boolean);
}

/* Two texts as pieces in which the words that only one of them has are marked. */
function marked(before, after) {
  const [left, right] = [words(before), words(after)];
  if (left.length * right.length > MAX_COMPARED) return [[before], [after]];
  const columns = right.length + 1;
  const length = new Uint32Array((left.length + 1) * columns);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      length[i * columns + j] = left[i] === right[j] ? length[(i + 1) * columns + j + 1] + 1
        : Math.max(length[(i + 1) * columns + j], length[i * columns + j + 1]);
    }
  }
  const [one, other] = [[], []];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      one.push([left[i], false]);
      other.push([right[j], false]);
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && length[(i + 1) * columns + j] >= length[i * columns + j + 1])) {
      one.push([left[i], true]);
      i += 1;
    } else {
      other.push([right[j], true]);
      j += 1;
    }
  }
  return [pieces(one, "del"), pieces(other, "ins")];
}

function pieces(tokens, tag) {
  const out = [];
  let [text, differs] = ["", false];
  const flush = () => { if (text) out.push(differs ? el(tag, {}, text) : text); };
  for (const [token, other] of tokens) {
    if (other !== differs) {
      flush();
      [text, differs] = ["", other];
    }
    text += token;
  }
  flush();
  return out;
}

/* ---- the page ---- */

const title = several ? count(results.length, "eval set") : results[0].evalSet;
const agents = [...new Set(results.map((result) => result.agent))].join(", ");
document.getElementById("app").append(
  top(title, "agent " + agents + ", " + results[0].created.slice(0, 16).replace("T", " ") + " UTC"),
  el("main", {}, summary(), distributions(), tools(), list));
state.sort = cases.length > FIRST_ROWS && cases.some((one) => one.verdict !== "PASSED") ? "verdict" : "order";
document.querySelector('select[aria-label="Order"]').value = state.sort;
show();

function openAddressed() {
  const sought = location.hash.slice(1);
  const one = sought.startsWith("case=") && cases.find((each) => address(each) === sought);
  if (!one) return;
  if (fill.all) fill.all();
  if (one.open) one.open();
}
addEventListener("hashchange", openAddressed);
openAddressed();
