"use strict";
// The trace viewer of a riftk report. What models wrote reaches the page as text nodes only.

const $ = (id) => document.getElementById(id);
const ROW = 54; // height of a row in the list, in pixels
const data = JSON.parse($("index").textContent);
const samples = data.samples;
const partNodes = document.querySelectorAll("script.part");
const parts = [];
const haystacks = [];
let shown = []; // numbers of the samples that pass the filters
let chosen = -1; // place in `shown`

// ---------- small helpers

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function text(number) {
  const part = Math.floor(number / data.part);
  parts[part] ??= JSON.parse(partNodes[part].textContent);
  return parts[part][number % data.part];
}

function option(select, label, value) {
  select.append(make("option", { value }, label));
}

// ---------- what a sample says

const sides = () => [Number($("left").value), Number($("right").value)];

function followed(side, sample, constraint) {
  if (!side) return null;
  const wanted = side.followed.filter((_, place) => constraint === "" || sample.constraints[place] === Number(constraint));
  return wanted.length ? wanted.every(Boolean) : null;
}

function changes(before, after) {
  return before === null || after === null || before === after ? 0 : after ? 1 : -1;
}

function haystack(number) {
  if (haystacks[number] === undefined) {
    const one = text(number);
    const words = [samples[number].item, one.answer, ...one.prompt.map((message) => message.content)];
    for (const side of one.sides) {
      if (!side) continue;
      words.push(side.reasoning, side.response, ...side.verdicts.map((verdict) => verdict.constraint + " " + verdict.reason));
    }
    haystacks[number] = words.join("\n").toLowerCase();
  }
  return haystacks[number];
}

// ---------- filters

function filter() {
  const want = Object.fromEntries(["task", "source", "constraint", "following", "answer", "change", "state"].map((id) => [id, $(id).value]));
  const query = $("search").value.trim().toLowerCase();
  const [left, right] = sides();
  const current = chosen >= 0 ? shown[chosen] : null;
  shown = [];
  for (let number = 0; number < samples.length; number++) {
    if (fits(samples[number], want, left, right) && (!query || haystack(number).includes(query))) shown.push(number);
  }
  const counted = `${shown.length} of ${samples.length}`;
  $("found").textContent = data.left_out ? `${counted} (+${data.left_out} not here)` : counted;
  $("rows").style.height = `${shown.length * ROW}px`;
  const kept = current === null ? -1 : shown.indexOf(current);
  choose(kept >= 0 ? kept : shown.length ? 0 : -1);
}

function fits(sample, want, left, right) {
  if (want.task !== "" && sample.task !== Number(want.task)) return false;
  if (want.source !== "" && sample.source !== Number(want.source)) return false;
  if (want.constraint === "none" && sample.constraints.length) return false;
  if (want.constraint !== "" && want.constraint !== "none" && !sample.constraints.includes(Number(want.constraint))) return false;
  const after = sample.sides[right], before = sample.sides[left];
  const follows = followed(after, sample, want.constraint);
  const correct = after ? after.correct : null;
  if (want.following && follows !== (want.following === "followed")) return false;
  if (want.answer && correct !== (want.answer === "correct")) return false;
  if (want.state && !(after && after.states.includes(want.state))) return false;
  if (want.change) {
    const following = changes(followed(before, sample, want.constraint), follows);
    const answer = changes(before ? before.correct : null, correct);
    const both = [following, answer];
    const kinds = {
      "improved": both.includes(1), "regressed": both.includes(-1), "unchanged": !following && !answer,
      "following improved": following > 0, "following regressed": following < 0,
      "answer improved": answer > 0, "answer regressed": answer < 0,
    };
    if (!kinds[want.change]) return false;
  }
  return true;
}

function clear() {
  $("filters").reset();
  $("right").value = String(data.evaluations.length - 1);
  filter();
}

// ---------- the list: only the rows that can be seen exist

function sign(value, yes, no) {
  if (value === null || value === undefined) return "·";
  return make("span", { class: value ? "yes" : "no", role: "img", title: value ? yes : no, "aria-label": value ? yes : no }, value ? "✓" : "✗");
}

function signs(sample, read, yes, no) {
  const [left, right] = sides();
  const values = left === right ? [read(sample.sides[right])] : [read(sample.sides[left]), read(sample.sides[right])];
  return values.flatMap((value, place) => (place ? ["→", sign(value, yes, no)] : [sign(value, yes, no)]));
}

function row(place) {
  const number = shown[place], sample = samples[number];
  const label = sample.item + (sample.sample ? ` #${sample.sample}` : "");
  const rule = sample.constraints.length ? signs(sample, (side) => followed(side, sample, $("constraint").value), "followed", "broken") : [];
  const answer = sample.sides.some((side) => side && side.correct !== null) ? signs(sample, (side) => (side ? side.correct : null), "correct", "wrong") : [];
  const node = make("div", { class: "row", role: "option", id: `row-${place}`, "aria-selected": String(place === chosen), "aria-setsize": shown.length, "aria-posinset": place + 1 },
    make("span", { class: "name", title: label }, label), make("span", { class: "signs" }, ...rule), make("span", { class: "signs" }, ...answer),
    make("span", { class: "question" }, sample.question));
  node.style.top = `${place * ROW}px`;
  node.addEventListener("click", () => choose(place));
  return node;
}

function draw() {
  const list = $("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4);
  const rows = [];
  for (let place = first; place < last; place++) rows.push(row(place));
  if (!shown.length) rows.push(make("p", { class: "nothing note", style: "padding: 1rem 1.5rem" }, "No sample fits. x clears the filters."));
  $("rows").replaceChildren(...rows);
  if (chosen >= 0) list.setAttribute("aria-activedescendant", `row-${chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

function choose(place) {
  chosen = place;
  const list = $("list");
  if (place >= 0 && list.clientHeight) {
    if (place * ROW < list.scrollTop) list.scrollTop = place * ROW;
    else if ((place + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (place + 1) * ROW - list.clientHeight;
  }
  draw();
  detail();
  if (current() === "traces") history.replaceState(null, "", place >= 0 ? address(shown[place]) : "#traces");
}

function address(number) {
  const sample = samples[number];
  return "#traces/" + [data.tasks[sample.task], sample.item, sample.sample].map((part) => encodeURIComponent(part)).join("/");
}

// ---------- one sample

function detail() {
  const pane = $("detail");
  if (chosen < 0) return pane.replaceChildren();
  const number = shown[chosen], sample = samples[number], one = text(number);
  const [left, right] = sides();
  const columns = left === right ? [right] : [left, right];
  const facts = [data.tasks[sample.task], data.sources[sample.source] === data.tasks[sample.task] ? "" : `source ${data.sources[sample.source]}`, one.answer ? `gold answer ${one.answer}` : "", sample.sample ? `sample ${sample.sample}` : ""];
  const previous = make("button", { type: "button", "aria-label": "Previous sample" }, "k ↑"), next = make("button", { type: "button", "aria-label": "Next sample" }, "j ↓");
  previous.addEventListener("click", () => move(-1));
  next.addEventListener("click", () => move(1));
  const head = make("div", { class: "head" }, make("h2", {}, sample.item), ...facts.filter(Boolean).map((fact) => make("span", { class: "fact" }, fact)), make("span", { class: "move" }, previous, next));
  const prompt = make("details", { class: "prompt", open: true }, make("summary", {}, "Prompt"));
  for (const message of one.prompt) {
    const body = make("p", { class: "text" });
    fill(body, message.content, []);
    if (one.prompt.length > 1) prompt.append(make("div", { class: "role" }, message.role));
    prompt.append(body);
  }
  const grid = make("div", { class: "sides" }, ...columns.map((column) => completion(data.evaluations[column], one.sides[column])));
  pane.replaceChildren(head, prompt, grid);
  pane.scrollTop = 0;
}

function completion(name, side) {
  const node = make("section", { class: "side", "aria-label": name });
  if (!side) {
    node.append(make("div", {}, make("h3", {}, name), make("p", { class: "nothing" }, "This evaluation does not hold the sample.")));
    return node;
  }
  const facts = make("p", { class: "facts" });
  if (side.correct !== null) facts.append(make("span", { class: side.correct ? "yes" : "no", title: side.grade || "" }, side.correct ? "✓ correct" : "✗ wrong"), side.extracted === null ? "" : `: ${side.extracted}`, " · ");
  facts.append([side.tokens === null ? `${side.words} words of reasoning` : `${side.tokens} tokens of reasoning`, side.status === "closed" ? "" : `reasoning: ${side.status}`, side.finish === "stop" ? "" : `ended by: ${side.finish}`, side.error || ""].filter(Boolean).join(" · "));
  const list = make("ul", { class: "verdicts" });
  const marks = { reasoning: [], response: [] };
  side.verdicts.forEach((verdict, place) => {
    const places = verdict.followed ? [] : verdict.marks || [];
    for (const [start, end] of places) marks[verdict.target].push({ start, end, verdict: place });
    const many = verdict.unmarked ? ` (${verdict.unmarked} more places are not marked)` : "";
    const item = make("li", { tabindex: places.length ? 0 : null },
      make("span", { class: `sign ${verdict.followed ? "yes" : "no"}` }, verdict.followed ? "✓" : "✗"),
      make("code", {}, verdict.constraint), ` ${verdict.followed ? "followed" : "broken"}: ${verdict.reason}${many} `,
      make("span", { class: "rules" }, `(${verdict.target}, ${verdict.rules.join(", ")})`));
    for (const quote of verdict.followed ? [] : verdict.quotes || []) item.append(" ", make("q", {}, quote));
    if (places.length) light(item, node, place);
    list.append(item);
  });
  if (!side.verdicts.length) list.append(make("li", { class: "nothing" }, "No instruction."));
  node.append(make("div", {}, make("h3", {}, name), facts), list);
  for (const [target, title, none] of [["reasoning", "Reasoning", "(none)"], ["response", "Answer", "(nothing)"]]) {
    const body = make("p", { class: "text" });
    if (side[target]) fill(body, side[target], marks[target], side.verdicts);
    else body.append(make("span", { class: "nothing" }, none));
    node.append(make("div", {}, make("h4", {}, title), body));
  }
  return node;
}

function light(item, side, place) {
  const set = (on) => {
    side.classList.toggle("only", on);
    for (const mark of side.querySelectorAll("mark[data-verdicts]")) mark.classList.toggle("lit", on && mark.dataset.verdicts.split(" ").includes(String(place)));
  };
  for (const event of ["mouseenter", "focus"]) item.addEventListener(event, () => set(true));
  for (const event of ["mouseleave", "blur"]) item.addEventListener(event, () => set(false));
  const go = () => side.querySelector("mark.lit")?.scrollIntoView({ block: "center" });
  item.addEventListener("click", go);
  item.addEventListener("keydown", (event) => event.key === "Enter" && go());
}

// Fill an element with a text, its offending places and what was searched for marked.
function fill(node, body, marks, verdicts = []) {
  const hits = found(body);
  const edges = new Set([0, body.length]);
  for (const { start, end } of [...marks, ...hits]) edges.add(start).add(end);
  const cuts = [...edges].sort((a, b) => a - b);
  const starts = new Map(), ends = new Map();
  for (const mark of [...marks, ...hits]) {
    starts.set(mark.start, [...(starts.get(mark.start) || []), mark]);
    ends.set(mark.end, [...(ends.get(mark.end) || []), mark]);
  }
  const open = new Set();
  for (let place = 0; place + 1 < cuts.length; place++) {
    for (const mark of ends.get(cuts[place]) || []) open.delete(mark);
    for (const mark of starts.get(cuts[place]) || []) open.add(mark);
    const piece = body.slice(cuts[place], cuts[place + 1]);
    if (!open.size) {
      node.append(piece);
      continue;
    }
    const numbers = [...open].filter((mark) => mark.verdict !== undefined).map((mark) => mark.verdict);
    const hit = [...open].some((mark) => mark.verdict === undefined);
    const why = [...new Set(numbers.map((number) => verdicts[number].reason))].join("; ");
    node.append(make("mark", { class: hit ? "hit" : null, title: why || null, "data-verdicts": numbers.length ? numbers.join(" ") : null }, piece));
  }
}

function found(body) {
  const query = $("search").value.trim();
  if (!query) return [];
  const pattern = new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  const hits = [];
  for (let match = pattern.exec(body); match && hits.length < 500; match = pattern.exec(body)) hits.push({ start: match.index, end: match.index + match[0].length });
  return hits;
}

// ---------- views, theme, keyboard

const current = () => ($("traces").hidden ? "report" : "traces");

function view() {
  const [name, task, item, sample] = location.hash.slice(1).split("/").map((part) => decodeURIComponent(part));
  const traces = name === "traces";
  const fresh = traces && current() !== "traces";
  $("report").hidden = traces;
  $("traces").hidden = !traces;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === (traces ? "traces" : "report")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!traces) {
    const target = document.getElementById(name);
    if (target instanceof HTMLDetailsElement) target.open = true;
    return target && name !== "report" ? target.scrollIntoView() : undefined;
  }
  const wanted = samples.findIndex((one) => data.tasks[one.task] === task && one.item === item && String(one.sample) === sample);
  const place = shown.indexOf(wanted);
  if (place >= 0) choose(place);
  else if (fresh) choose(chosen);
}

function move(by) {
  if (shown.length) choose(Math.min(Math.max(chosen + by, 0), shown.length - 1));
}

function dark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function theme(toggle) {
  if (toggle) document.documentElement.dataset.theme = dark() ? "light" : "dark";
  $("theme").textContent = dark() ? "Light" : "Dark";
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  "/": () => { location.hash = "#traces"; view(); $("search").focus(); $("search").select(); },
  f: () => { location.hash = "#traces"; view(); document.querySelector(".filters label:not([hidden]) select").focus(); },
  x: clear,
  r: () => { location.hash = current() === "report" ? "#traces" : "#report"; },
  t: () => theme(true),
  "?": () => $("help").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (event.key === "Escape") return document.activeElement.blur();
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Enter" && event.target.id === "search") { event.preventDefault(); $("list").focus(); }
    return;
  }
  if (event.target === $("list") && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    return move(event.key === "ArrowDown" ? 1 : -1);
  }
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
}

function start() {
  for (const [id, names] of [["task", data.tasks], ["source", data.sources], ["constraint", data.constraints]]) {
    option($(id), "any", "");
    names.forEach((name, number) => option($(id), name, number));
    $(id).closest("label").hidden = names.length < 2 && id !== "constraint";
  }
  if (data.constraints.length) option($("constraint"), "none", "none");
  data.evaluations.forEach((name, number) => [$("left"), $("right")].forEach((select) => option(select, name, number)));
  $("left").value = "0";
  $("right").value = String(data.evaluations.length - 1);
  for (const label of document.querySelectorAll("[data-of='sides']")) label.hidden = data.evaluations.length < 3;
  document.querySelector("[data-of='change']").hidden = data.evaluations.length < 2;
  for (const id of ["constraint", "following"]) $(id).closest("label").hidden = !data.constraints.length;
  $("filters").addEventListener("change", (event) => event.target.id !== "search" && filter());
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("search").addEventListener("input", filter);
  $("clear").addEventListener("click", (event) => { event.preventDefault(); clear(); });
  let waiting = false;
  $("list").addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; draw(); });
    waiting = true;
  });
  window.addEventListener("resize", draw);
  window.addEventListener("hashchange", view);
  document.addEventListener("keydown", onKey);
  $("theme").addEventListener("click", () => theme(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(false));
  $("help-button").addEventListener("click", () => $("help").showModal());
  theme(false);
  filter();
  view();
  document.documentElement.dataset.ready = "yes";
}

start();
