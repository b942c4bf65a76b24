"use strict";
// The attention of both ends and the score, from arrays the model left here. Nothing is approximated: at
// every position of the slider these are the numbers the model itself would give.
const data = JSON.parse(document.getElementById("pieces").textContent);
const floats = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const weight = floats(data.weight), H = data.heads, d = data.dim;
const ends = data.ends.map(end => Object.fromEntries(Object.entries(end).map(([k, v]) => [k, floats(v)])));
const onNode = data.modulate === "node" || data.modulate === "both";
const onEdge = data.modulate === "edge" || data.modulate === "both";
const byId = id => document.getElementById(id);
const signed = x => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);
const plain = x => (x < 0 ? "−" : "") + Math.abs(x).toFixed(3);

// What one end adds to the hidden layer. at[k] is the place of event k's age in the sweep, or -1 as it was.
function look(end, at, phi) {
  const hidden = Float64Array.from(end.base), alpha = [];
  for (let h = 0; h < H; h++) {
    const events = at.map((g, k) => {
      const own = k * H + h, swept = g * H + h, moved = g >= 0;
      const psi = moved ? end.swept_psi[swept] : end.psi[own];
      const node = onNode ? psi : 1, edge = onEdge ? psi : 1;
      const time = moved && phi ? end.swept_time_logit[swept] : end.time_logit[own];
      const logit = node * end.node_logit[own] + edge * (time + end.message_logit[own]);
      const [values, row] = moved && phi ? [end.swept_time_value, swept] : [end.time_value, own];
      return {own, row, values, node, edge, logit};
    });
    const top = Math.max(...events.map(e => e.logit));
    const mass = events.map(e => Math.exp(e.logit - top)), total = mass.reduce((a, b) => a + b, 0);
    events.forEach((e, k) => {
      const a = mass[k] / total;
      alpha[k] = (alpha[k] || 0) + a / H;
      for (let i = 0; i < d; i++)
        hidden[i] += a * (e.node * end.node_value[e.own * d + i]
          + e.edge * (e.values[e.row * d + i] + end.message_value[e.own * d + i]));
    });
  }
  return {hidden, alpha};
}

// which = [end, event], event -1 for all of them. An event between the two is moved in both.
function isMoved(which, side, k) {
  const own = data.events[which[0]], chosen = which[1] < 0 ? own : [own[which[1]]];
  return chosen.includes(data.events[side][k]);
}

function judge(which, g, phi) {
  const found = ends.map((end, side) =>
    look(end, data.events[side].map((_, k) => isMoved(which, side, k) ? g : -1), phi));
  let score = data.bias;
  for (let i = 0; i < d; i++) score += weight[i] * Math.max(0, found[0].hidden[i] + found[1].hidden[i]);
  return {score, alpha: found.map(f => f.alpha)};
}

const before = judge([0, -1], -1, true);

function curve(which, phi, chosen) {
  const scores = data.ages.map((_, g) => judge(which, g, phi).score), all = [...scores, before.score];
  let low = Math.min(...all), high = Math.max(...all);
  const room = Math.max((high - low) * 0.12, 0.02); low -= room; high += room;
  const x = g => 46 + g / (scores.length - 1) * 424, y = s => 160 - (s - low) / (high - low) * 150;
  const path = scores.map((s, g) => `${g ? "L" : "M"}${x(g).toFixed(1)} ${y(s).toFixed(1)}`).join("");
  const every = Math.ceil(scores.length / 6);
  const ticks = data.labels.map((l, g) => g % every ? "" :
    `<text x="${x(g)}" y="182" text-anchor="middle">${l}</text>`).join("");
  byId("curve").innerHTML = `<line class="axis" x1="46" y1="160" x2="470" y2="160"/>${ticks}
    <line x1="46" x2="470" y1="${y(before.score)}" y2="${y(before.score)}" stroke="var(--grey)" stroke-dasharray="4 4"/>
    <text x="40" y="${y(high - room) + 4}" text-anchor="end">${plain(high - room).slice(0, 6)}</text>
    <text x="40" y="${y(low + room) + 4}" text-anchor="end">${plain(low + room).slice(0, 6)}</text>
    <path d="${path}" fill="none" stroke="var(--blue)" stroke-width="2"/>` + (chosen < 0 ? "" :
    `<circle cx="${x(chosen)}" cy="${y(scores[chosen])}" r="6" fill="var(--vermilion)" stroke="var(--paper)" stroke-width="2"/>`);
}

function update() {
  const which = byId("which").value.split(",").map(Number), g = Number(byId("age").value);
  const phi = byId("mode").value === "phi", now = judge(which, g, phi);
  byId("score").textContent = plain(now.score);
  byId("score").dataset.value = now.score;
  byId("change").textContent = g < 0 ? "as it was" : signed(now.score - before.score) + " against as it was";
  byId("age-label").textContent = g < 0 ? "as it was" : data.labels[g];
  byId("age").setAttribute("aria-valuetext", byId("age-label").textContent);  // said aloud, not the place on the slider
  now.alpha.forEach((alphas, side) => alphas.forEach((a, k) => {
    const bar = byId(`alpha-${side}-${k}`);
    bar.dataset.value = a;
    bar.querySelector("i").style.width = 100 * a / bar.closest("section").dataset.scale + "%";
    byId(`share-${side}-${k}`).textContent = (100 * a).toFixed(1) + " %";
    bar.closest("tr").classList.toggle("moved", g >= 0 && isMoved(which, side, k));
  }));
  curve(which, phi, g);
}

for (const id of ["which", "mode", "age"]) byId(id).addEventListener("input", update);
const asItWas = () => { byId("age").value = -1; update(); };
byId("reset").addEventListener("click", asItWas);
window.addEventListener("beforeprint", asItWas);  // paper shows what happened
update();
