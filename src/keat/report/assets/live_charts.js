"use strict";
// Small charts, drawn into an <svg> that is there. Numbers come from the service; nothing is markup.
const NS = "http://www.w3.org/2000/svg";

function drawn(svg, name, attributes, text) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  svg.appendChild(element);
  return element;
}

// A line over the last `length` seconds that ends at the right edge; null leaves a gap.
export function spark(svg, values, length, what) {
  const width = 240, height = 44, top = Math.max(...values.map(v => v ?? 0), 1e-9);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-label", what);
  svg.replaceChildren();
  const x = k => width * (length - values.length + k + 1) / length, y = v => height - 1 - (height - 4) * v / top;
  let piece = [];
  const end = () => {
    if (piece.length) {
      const line = piece.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L");
      drawn(svg, "path", {class: "spark-fill", d: `M${piece[0][0].toFixed(1)} ${height}L${line}L${piece.at(-1)[0].toFixed(1)} ${height}Z`});
      drawn(svg, "path", {class: "spark-line", d: `M${line}`});
    }
    piece = [];
  };
  values.forEach((v, k) => v === null ? end() : piece.push([x(k), y(v)]));
  end();
}

// Counts in equal steps from low to high, with an upright line at each of `marks`.
export function bars(svg, {low, high, counts}, what) {
  const width = 420, height = 170, floor = 146, most = Math.max(...counts, 1), step = (width - 8) / counts.length;
  svg.setAttribute("aria-label", what);
  svg.replaceChildren();
  counts.forEach((count, k) => {
    const tall = count ? Math.max(2, (floor - 18) * count / most) : 0;
    drawn(svg, "rect", {class: "bar", x: (4 + k * step + 0.5).toFixed(1), y: (floor - tall).toFixed(1),
      width: (step - 1).toFixed(1), height: tall.toFixed(1), rx: 1});
  });
  drawn(svg, "line", {class: "axis", x1: 4, x2: width - 4, y1: floor, y2: floor});
  const named = v => (v < 0 ? "−" : "") + Math.abs(v).toFixed(Math.abs(high - low) < 10 ? 2 : 1);
  [[low, 4, "start"], [(low + high) / 2, width / 2, "middle"], [high, width - 4, "end"]].forEach(([v, place, anchor]) =>
    drawn(svg, "text", {x: place, y: height - 8, "text-anchor": anchor}, named(v)));
  drawn(svg, "text", {x: 4, y: 12}, `${most.toLocaleString("en")} at most in a step`);
}
