"use strict";
// The page of a live service: what it is told once a second, and nothing it works out by itself. Whatever a
// client wrote is put in as text.
import {bars, spark} from "./live_charts.js";
import {follow, token} from "./live_feed.js";
import {showWhy} from "./live_why.js";
const byId = id => document.getElementById(id), LENGTH = 300;
let past = [], about = {}, now = null, paused = false;

const count = n => Math.round(n).toLocaleString("en");
const signed = x => (x < 0 ? "−" : "") + Math.abs(x).toFixed(3);
const percent = p => p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`;
function duration(seconds) {
  if (seconds === null) return "–";
  const ms = seconds * 1000;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}
function bytes(n) {
  for (const unit of ["bytes", "kB", "MB", "GB"]) {
    if (n < 1000 || unit === "GB") return `${unit === "bytes" ? n : n.toFixed(n < 10 ? 1 : 0)} ${unit}`;
    n /= 1000;
  }
}
function ago(seconds) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"]];
  for (const [size, name] of parts) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  return `${Math.floor(seconds)} s`;
}
function made(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
function state(kind, sentence) {
  document.documentElement.dataset.state = kind;
  if (byId("status").textContent !== sentence) byId("status").textContent = sentence;
}
function notice(sentence) {
  byId("notice").hidden = !sentence;
  if (byId("notice").textContent !== (sentence ?? "")) byId("notice").textContent = sentence ?? "";
}

function draw() {
  if (!now || document.hidden) return;
  const [, events, p50, p99, queued] = now.second;
  byId("rate").textContent = events > 0 && events < 10 ? events.toFixed(1) : count(events);
  byId("p50").textContent = duration(p50);
  byId("p99").textContent = duration(p99);
  byId("queue").textContent = count(queued);
  const length = Math.max(60, Math.min(LENGTH, past.length));
  byId("span").textContent = length < LENGTH ? "Lines show the time since the start" : "Lines show the last five minutes";
  const lines = [["rate", 1, "Events a second"], ["p50", 2, "Median of the latency"],
    ["p99", 3, "99th percentile of the latency"], ["queue", 4, "Events that waited"]];
  for (const [id, place, what] of lines)
    spark(byId(`${id}-line`), past.map(second => second[place]), length, `${what}, now ${byId(id).textContent}`);
  byId("none").hidden = (now.latest ?? []).length > 0;
  drawEvents(byId("latest"), now.latest ?? []);
  drawAlerts();
  if (now.scores) {
    const total = now.scores.counts.reduce((a, b) => a + b, 0);
    byId("scores-about").textContent = `Of the latest ${count(total)} events: how many had each score, a logit.`;
    bars(byId("scores"), now.scores, `Scores of the latest ${count(total)} events`);
  }
  drawService();
}

// A row under the hand or with the focus stays where it is.
function drawEvents(table, events) {
  const written = JSON.stringify(events);
  table.hidden = events.length === 0;
  if (written === table.drawn || (table.drawn && table.matches(":hover, :focus-within"))) return;
  table.drawn = written;
  table.tBodies[0].replaceChildren(...events.map(event => {
    const row = made("tr"), why = made("button", "Why?"), time = made("td", event.time);
    why.type = "button";
    why.setAttribute("aria-label", `Why event ${event.seq} was scored as it was`);
    why.addEventListener("click", () => showWhy(event.seq));
    if (event.late) time.append(made("span", "late", "late"));
    const score = made("td", event.probability == null ? signed(event.logit) : percent(event.probability), "right");
    const cells = [made("td", event.seq), made("td", event.source, "who"), made("td", event.destination, "who"), time,
      score, made("td")];
    cells[5].append(why);
    row.append(...cells);
    return row;
  }));
}

function drawAlerts() {
  const {a_hour, in_window, in_all, suspicious, truth} = now.alerts;
  drawEvents(byId("alarming"), now.alarming ?? []);
  byId("alerts-about").textContent = a_hour === 0
    ? "None are asked for; start the service with --alerts to name the most suspicious events of each hour."
    : `The ${count(a_hour)} most suspicious events of an hour, by ${suspicious} scores: ${count(in_window)} in the last hour, `
      + `${count(in_all)} in all.`;
  const said = now.drift.map(({level, sentence}) => [level, sentence]);
  const share = x => `${(100 * x).toFixed(0)} %`;
  if (truth.precision != null)
    said.push(["none", `${count(truth.alerts_right)} of ${count(truth.alerts_labelled)} alerts with a label were right: `
      + `${share(truth.precision)}, between ${share(truth.precision_low)} and ${share(truth.precision_high)} (95 %).`]);
  else said.push(["unknown", truth.labels ? `${count(truth.labels)} labels came, none of an alert.` : "No label has come yet."]);
  if (truth.seconds_to_detection != null)
    said.push(["none", `Half of what was found was found ${truth.seconds_to_detection > 0
      ? `within ${ago(truth.seconds_to_detection)} of` : "at"} its first event.`]);
  byId("drift").replaceChildren(...said.map(([level, sentence]) => {
    const item = made("li", sentence);
    item.dataset.level = level;
    return item;
  }));
}

function drawService() {
  const facts = [["model", now.model], ["events in the log", count(now.seq)],
    ["since the last snapshot", `${count(now.seq - now.snapshot)} events`],
    ["log on the disk", `${bytes(now.log_bytes)}, ${about.durability === "disk" ? "synced" : "not synced"}`],
    ["memory", now.memory_bytes == null ? "–" : bytes(now.memory_bytes)], ["nodes", count(now.nodes)],
    ["… that joined since the start", count(now.newcomers)], ["late events", count(now.late)],
    ["events sent again", count(now.again)], ["requests refused", count(now.refused)],
    ["pages open", count(now.watchers)], ["up for", ago(now.second[0] - about.since)]];
  byId("service").replaceChildren(...facts.flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
}

const on = {
  begin(content) {
    about = content;
    past = content.past.slice(-LENGTH);
    byId("door").hidden = true;
    byId("all").hidden = false;
    byId("eyebrow").textContent = `keat serve · ${about.kind}`;
    byId("name").replaceChildren(made("b", about.run), " is live");
    document.title = `${about.run} · keat serve`;
    byId("queue-of").textContent = `events wait, of at most ${count(about.most_queued)}`;
    byId("footer").textContent = `keat ${about.version}`;
    notice(null);
  },
  now(content) {
    if (!now || content.second[0] !== past.at(-1)?.[0]) past = [...past, content.second].slice(-LENGTH);
    if (paused) return;
    now = content;
    byId("facts").textContent = `${count(now.seq)} events in its log · model ${now.model}`;
    if (now.trouble) state("trouble", "takes no events"); else state("live", "live");
    notice(now.trouble);
    draw();
  },
  lost({sentence}) { notice(`This page could not follow: ${sentence}`); },
  away(sentence) { state("away", "away"); notice(`${sentence} Numbers are of the last moment; trying again …`); },
  locked(sentence) {
    token.forget();
    state("away", "locked");
    byId("all").hidden = true;
    byId("door").hidden = false;
    byId("wrong").textContent = sentence;
    byId("token").focus();
  },
};

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", paused);
  byId("pause").textContent = paused ? "Go on" : "Pause";
  if (paused) state("paused", "paused");
});
byId("ask").addEventListener("submit", event => { event.preventDefault(); showWhy(Number(byId("seq").value)); });
byId("door").addEventListener("submit", event => {
  event.preventDefault();
  token.set(byId("token").value);
  byId("token").value = "";
  follow("v1/live", on);
});
document.addEventListener("visibilitychange", draw);
follow("v1/live", on);
