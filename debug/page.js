// The page keeps one row for each subject and changes only what differs, so that
// a focus, a selection and an open row outlive the updates. Everything from the
// server goes in as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const SLOTS = 60; // ten minutes of ten seconds, as the server keeps them
const rows = new Map(); // by the subject's id
let order = []; // of the server, the worst first
let lastUpdate = 0;
let verdict = ""; // what #said was last set for

function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

function svg(tag, attributes) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

function figure(v) {
  if (v === null || v === undefined) return "–";
  if (v !== 0 && Math.abs(v) < 0.01) return "<0.01";
  return String(Math.abs(v) < 10 ? Math.round(v * 100) / 100 : Math.round(v));
}

// A row is a details element. Its body is made when it is first opened: of two
// hundred upstreams, one looks at two.
class Row {
  constructor(subject) {
    this.badge = el("span", { class: "badge" });
    this.name = el("span", { class: "name" }, subject.name, el("span", { class: "kind" }, subject.kind));
    this.text = el("span");
    this.why = el("small");
    this.says = el("span", { class: "says" }, this.text, this.why);
    this.meter = svg("svg", { class: "meter", role: "img", viewBox: "0 0 100 14", preserveAspectRatio: "none" });
    this.spark = svg("svg", { class: "spark", "aria-hidden": "true", viewBox: "0 0 100 100", preserveAspectRatio: "none" });
    this.summary = el("summary", {}, this.badge, this.name, this.says, this.meter, this.spark);
    this.body = el("div", { class: "body" });
    this.details = el("details", { id: subject.id }, this.summary, this.body);
    this.details.addEventListener("toggle", () => this.drawBody());
    // The Enter on the headline moves the focus here between its keydown and its
    // keypress: without this, it would go on to close what it has just opened.
    let began = false;
    this.summary.addEventListener("keydown", () => { began = true; });
    this.summary.addEventListener("keypress", (e) => { if (!began) e.preventDefault(); });
    this.summary.addEventListener("blur", () => { began = false; });
    this.summary.addEventListener("keyup", () => { began = false; });
    this.item = el("li", {}, this.details);
    this.history = {};
  }

  update(subject) {
    this.subject = subject;
    for (const [name, tail] of Object.entries(subject.history ?? {})) {
      if (Array.isArray(tail)) this.history[name] = [...(this.history[name] ?? []), ...tail].slice(-SLOTS);
    }
    const first = subject.findings[0];
    this.badge.className = "badge " + subject.level;
    setText(this.badge, first.word);
    setText(this.text, first.text + (subject.findings.length > 1 ? ` (+${subject.findings.length - 1})` : ""));
    setText(this.why, first.detail ?? "");
    this.drawMeter(subject.live);
    this.spark.replaceChildren(...lines(this.history, ["places", "required", "inFlight"]));
    this.drawBody();
  }

  drawMeter(live) {
    this.meter.toggleAttribute("hidden", !live || live.places === 0);
    if (!live) return;
    const top = Math.max(live.places, live.required ?? 0, live.inFlight, 1) * 1.02;
    const x = (n) => (100 * n) / top;
    this.meter.setAttribute("aria-label",
      `${live.inFlight} of ${live.places} places in flight, the traffic needs ${figure(live.required)}, ${live.queued} wait`);
    this.meter.replaceChildren(
      svg("rect", { class: "used", x: 0, y: 3, width: x(live.inFlight), height: 8 }),
      svg("rect", { class: "has", x: 0.5, y: 2, width: Math.max(0, x(live.places) - 0.5), height: 10, "vector-effect": "non-scaling-stroke" }),
      live.required > 0 && svg("rect", { class: live.required > live.places ? "needs over" : "needs", x: Math.max(0, x(live.required) - 1), y: 0, width: 1.2, height: 14 }) || "");
  }

  drawBody() {
    if (!this.details.open || !this.subject) return;
    const s = this.subject;
    const all = el("ul", { class: "findings" });
    for (const f of s.findings) all.append(el("li", { class: f.level }, el("b", {}, f.word), ": " + f.text + (f.detail ? ": " + f.detail : "")));
    const parts = [all];
    if (s.live) parts.push(el("h3", {}, "The last ten minutes"), charts(this.history));
    if (s.facts?.length) parts.push(table(s));
    if (s.errors?.length) parts.push(el("h3", {}, "Last errors"), errors(s.errors));
    this.body.replaceChildren(...parts);
  }
}

// lines draws some figures of the history to one scale. A gap is where nobody
// looked.
function lines(history, names) {
  const top = Math.max(1e-9, ...names.flatMap((n) => history[n] ?? []).filter((v) => v !== null));
  const style = { required: "need", failedPerSecond: "need", refusedPerSecond: "need", places: "have" };
  return names.map((name) => {
    const values = history[name] ?? [];
    let d = "";
    let pen = "M";
    values.forEach((v, i) => {
      if (v === null) { pen = "M"; return; }
      const x = (100 * (SLOTS - values.length + i)) / (SLOTS - 1);
      d += `${pen}${x.toFixed(1)} ${(97 - (94 * v) / top).toFixed(1)}`;
      pen = "L";
    });
    return svg("path", { class: style[name] ?? "live", d });
  });
}

function charts(history) {
  if (!history.places?.length) return el("p", {}, "Nothing yet: a point comes each ten seconds.");
  const of = (title, unit, named) => {
    const names = Object.keys(named);
    const chart = svg("svg", { class: "chart", role: "img", viewBox: "0 0 100 100", preserveAspectRatio: "none" });
    const said = names.map((n) => {
      const known = (history[n] ?? []).filter((v) => v !== null);
      const most = known.length ? Math.max(...known) : null;
      return `${named[n]} now ${figure(history[n]?.at(-1))}, at most ${figure(most)}${unit}`.trim();
    });
    chart.setAttribute("aria-label", `${title}: ${said.join("; ")}`);
    chart.append(...lines(history, names));
    return el("figure", {}, chart, el("figcaption", {}, el("b", {}, title), ": " + said.join("; ")));
  };
  return el("div", { class: "charts" },
    of("Places", "", { inFlight: "in flight (line)", required: "needed (dashes)", places: "there are (dots)" }),
    of("Wait for a place, p95", " s", { queueWaitP95: "" }),
    of("Calls", "/s", { callsPerSecond: "all (line)", failedPerSecond: "failed or too slow (dashes)" }),
    of("Queue and refusals", "", { queued: "waiting (line)", refusedPerSecond: "refused each second (dashes)" }));
}

function table(s) {
  const body = el("tbody");
  for (const f of s.facts) {
    body.append(el("tr", {}, el("th", { scope: "row" }, f.label), el("td", { class: "plan" }, f.plan ?? ""), el("td", { class: "now" }, f.now)));
  }
  const head = el("thead", {}, el("tr", {}, ...["", "Plan", "Now"].map((t) => el("th", { scope: "col" }, t))));
  head.querySelector("th").append("What");
  return el("table", {}, el("caption", {}, s.target ? `${s.name} at ${s.target}` : s.name), head, body);
}

function errors(list) {
  const ul = el("ul", { class: "errors" });
  for (const e of list) ul.append(el("li", {}, el("b", {}, e.outcome), ` ${e.ago}: ${e.text}`));
  return ul;
}

function take(event) {
  for (const subject of event.changed) {
    if (!rows.has(subject.id)) rows.set(subject.id, new Row(subject));
    rows.get(subject.id).update(subject);
  }
  order = event.order;
  for (const [id, row] of rows) {
    if (!order.includes(id)) { row.item.remove(); rows.delete(id); }
  }
  arrange(false);
  headline(event);
  lastUpdate = Date.now();
  document.body.classList.remove("stale");
  setText($("fresh"), "Live, as of " + new Date(event.at).toLocaleTimeString());
}

function headline(event) {
  const troubled = order.filter((id) => ["warn", "bad"].includes(rows.get(id).subject.level)).length;
  $("headline").className = event.level;
  setText($("worst"), event.headline);
  const worst = order.length && rows.get(order[0]).subject;
  say(troubled ? worst.id + worst.findings[0].word : "well", event.headline);
  if (troubled) $("worst").href = "#" + encodeURIComponent(order[0]);
  else $("worst").removeAttribute("href");
  document.title = (troubled ? `(${troubled}) ` : "") + event.headline.slice(0, 60);
}

// say tells a screen reader, which should hear of another verdict, and not every two
// seconds of another number.
function say(what, text) {
  if (what === verdict) return;
  verdict = what;
  setText($("said"), text);
}

// lost is for a page that is old: what it says of the process may be true no longer.
function lost(why) {
  const since = lastUpdate ? `; this is from ${new Date(lastUpdate).toLocaleTimeString()}` : "";
  document.body.classList.add("stale");
  setText($("fresh"), `No connection${since}. ${why}Trying again.`);
  if (verdict !== "lost") {
    $("headline").className = "bad";
    setText($("worst"), "No connection" + (lastUpdate ? ". Before: " + $("worst").textContent : "."));
    document.title = $("worst").textContent.slice(0, 60);
  }
  say("lost", $("worst").textContent);
}

// arrange puts the worst first, but never moves what somebody is about to click
// or has the focus in: then a button offers it.
function arrange(asked) {
  const list = $("list");
  const now = [...list.children];
  const want = order.map((id) => rows.get(id).item);
  const same = now.length === want.length && now.every((item, i) => item === want[i]);
  const inUse = now.length > 0 && (list.contains(document.activeElement) || list.matches(":hover"));
  if (!same && (asked || !inUse)) list.append(...want);
  else if (!same) for (const item of want) if (!item.isConnected) list.append(item);
  $("sort").hidden = same || asked || !inUse;
  filter();
}

function filter() {
  const text = $("filter").value.trim().toLowerCase();
  let shown = 0;
  for (const row of rows.values()) {
    const { name, level } = row.subject;
    const hide = !name.toLowerCase().includes(text) || ($("trouble").checked && !["warn", "bad"].includes(level));
    row.item.hidden = hide;
    if (!hide) shown++;
  }
  $("none").hidden = shown > 0 || rows.size === 0;
}

// reveal opens the row that the address names, and takes the focus there.
function reveal() {
  const row = rows.get(decodeURIComponent(location.hash.slice(1)));
  if (!row) return;
  if (row.item.hidden) { // by what was searched for before
    $("filter").value = "";
    $("trouble").checked = false;
    filter();
  }
  row.details.open = true;
  row.summary.focus();
  row.item.scrollIntoView({ block: "start" });
}

function connect() {
  const events = new EventSource(location.pathname);
  let first = true;
  events.onmessage = (message) => {
    if (first) for (const row of rows.values()) row.history = {}; // all of it comes again
    take(JSON.parse(message.data));
    if (first && location.hash && !document.activeElement?.closest("#list")) reveal();
    first = false;
  };
  events.onopen = () => { first = true; };
  events.onerror = () => {
    const refused = events.readyState === EventSource.CLOSED;
    lost(refused ? "The server refuses: perhaps too many have this page open. " : "");
    if (refused) setTimeout(connect, 10000);
  };
}

$("filter").addEventListener("input", filter);
$("trouble").addEventListener("change", filter);
$("sort").addEventListener("click", () => { arrange(true); $("filter").focus(); });
$("tools").addEventListener("submit", (e) => e.preventDefault());
$("worst").addEventListener("click", (e) => { if ($("worst").hash === location.hash) { e.preventDefault(); reveal(); } });
addEventListener("hashchange", reveal);
connect();
