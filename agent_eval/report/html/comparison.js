/* The page of a comparison. */

const data = read("index");
const severalSets = data.comparisons.length > 1;
const CHANGE_LOOKS = { regressed: "failed", fixed: "passed", moved: "open", new: "flaky", gone: "open", removed: "open" };
let wanted = "all";
let sought = "";

function arrow() {
  return el("span", { class: "arrow" }, "→");
}

function both(pair, show) {
  const [before, after] = pair;
  if (before === null || before === undefined || after === null || after === undefined || before === after) {
    const one = before === null || before === undefined ? after : before;
    return one === null || one === undefined ? ["–"] : [show(one)];
  }
  return [show(before), arrow(), show(after)];
}

function row(one) {
  const rates = one.rates.every((rate) => rate !== null && rate !== undefined);
  return el("tr", {},
    el("td", {}, el("span", { class: "chip " + (CHANGE_LOOKS[one.change] || "") }, one.change)),
    el("th", { scope: "row", class: "wide" }, el("span", { class: "name", dir: "auto" }, one.id, severalSets ? el("span", { class: "set" }, data.comparisons[one.comparison].evalSet) : null),
      one.edited ? el("div", { class: "muted small" }, "the case was edited") : null),
    el("td", {}, both(one.verdicts, chip)),
    el("td", {}, both(one.runs, (text) => text),
      one.worth.map((text) => el("div", { class: "muted small" }, text)),
      rates && one.rates[0] !== one.rates[1] ? el("div", { class: "muted small" }, ((one.rates[1] - one.rates[0]) * 100).toFixed(0).replace(/^(?=\d)/, "+") + " points of pass rate") : null),
    el("td", { class: "wide" }, one.note ? el("div", { class: "small", dir: "auto" }, one.note) : null, one.scores.map((score) => {
      const delta = score.delta;
      return el("div", {}, el("span", { class: "muted" }, score.name + " "), number(score.before), arrow(), number(score.after),
        delta === null ? null : el("b", { class: score.worse ? "failed" : "passed" }, " " + (delta < 0 ? "" : "+") + number(delta)));
    })));
}

function show() {
  const cases = data.cases.filter((one) => (wanted === "all" || one.change === wanted)
    && (!sought || (one.id + " " + one.scores.map((score) => score.name).join(" ")).toLowerCase().includes(sought)));
  counted.textContent = cases.length === data.cases.length ? count(cases.length, "case") : cases.length.toLocaleString("en") + " of " + count(data.cases.length, "case");
  fill(body, cases, row, () => { document.documentElement.dataset.ready = "true"; });
}

const counted = el("p", { class: "count", role: "status" });
const body = el("tbody");
const counts = data.changes.map((change) => [change, data.cases.filter((one) => one.change === change).length]).filter(([, amount]) => amount);
const between = (one) => [one.baseline, arrow(), one.candidate];

function conditions(one) {
  const named = severalSets ? el("p", { class: "muted small" }, one.evalSet + ": ", between(one)) : null;
  const parts = [];
  if (one.goalposts.length || one.conditions.length) {
    parts.push(el("div", { class: "callout" }, named,
      one.conditions.map((line) => el("p", { dir: "auto" }, line)),
      one.goalposts.length ? el("ul", { class: "goalposts" }, one.goalposts.map((post) => el("li", {}, el("b", {}, post.what), ": ", post.before, arrow(), post.after))) : null));
  }
  if (one.suite.length) {
    parts.push(el("div", { class: "suite" }, severalSets ? el("p", { class: "muted small" }, one.evalSet) : null,
      one.suite.map((line) => el("p", { class: one.dropped ? "word failed" : null }, line))));
  }
  return parts;
}

document.getElementById("app").append(
  top("Comparison", !severalSets ? between(data.comparisons[0]) : count(data.comparisons.length, "eval set")),
  el("main", {},
    el("section", { class: "card", "aria-label": "Summary" },
      el("p", { class: "headline" }, counts.map(([change, amount]) => amount.toLocaleString("en") + " " + change).join(", ") || "No cases"),
      data.comparisons.flatMap(conditions)),
    el("div", { class: "tools", id: "cases", tabindex: "-1", role: "search" },
      searchField("Search cases (press /)", (text) => { sought = text; show(); }),
      filters("Change", [["all", "All", data.cases.length], ...counts.map(([change, amount]) => [change, change, amount])], wanted,
        (value) => { wanted = value; show(); }),
      counted),
    el("div", { class: "list changes" },
      el("table", {},
        el("thead", {}, el("tr", {}, ["Change", "Case", "Verdict", "Runs", "Scores"].map((name) => el("th", { scope: "col" }, name)))),
        body))));
show();
