"""Style sheet and script of the report page; the page is whole without the script."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1c2330; --muted: #667085; --rule: #e4e7ec;
  --line: #2563c9; --held-out: #d9480f; --restart: #b42318; --phase: #7a5af8; --good: #067647;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f131a; --card: #181e28; --ink: #e6e9ef; --muted: #98a2b3; --rule: #2a3342;
    --line: #6ea8fe; --held-out: #ff9f5a; --restart: #ff8577; --phase: #a594ff; --good: #5fd39a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 1240px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { margin: 0; font-size: 28px; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 40px 0 12px; font-size: 19px; }
h3 { margin: 0 0 8px; font-size: 14px; font-weight: 600; }
p { margin: 4px 0; }
.muted, figcaption, .legend { color: var(--muted); }
.state {
  display: inline-block; padding: 1px 10px; margin-left: 10px; border-radius: 999px;
  border: 1px solid currentColor; color: var(--muted); font-size: 13px; vertical-align: 5px;
}
.state.complete { color: var(--good); }
.state.interrupted { color: var(--restart); }
.tiles, .figures, .tables { display: grid; gap: 14px; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); margin-top: 22px; }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.tables { grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); }
.tables { align-items: start; }
.tiles > div, figure, .card {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px; min-width: 0;
}
.tiles > div { padding: 12px 16px; }
.tiles b { display: block; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--muted); font-size: 13px; }
figure { margin: 0; padding: 12px 14px 8px; }
figcaption { display: flex; justify-content: space-between; gap: 12px; font-size: 13px; }
figcaption b { color: var(--ink); font-size: 14px; font-weight: 600; }
.card { padding: 14px 16px; overflow-x: auto; }
.card + .card { margin-top: 14px; }
.tables .card + .card { margin-top: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 22px; margin-bottom: 12px; font-size: 13px; }
.legend svg { width: 26px; height: 12px; margin-right: 7px; vertical-align: -1px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { padding: 5px 14px 5px 0; text-align: left; vertical-align: top; }
tr + tr > *, thead + tbody tr > * { border-top: 1px solid var(--rule); }
th { color: var(--muted); font-weight: 500; }
thead th { white-space: nowrap; }
tbody th { width: 1%; padding-right: 24px; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.wide td { overflow-wrap: normal; white-space: nowrap; }
summary { cursor: pointer; font-weight: 600; font-size: 14px; }
details[open] summary { margin-bottom: 8px; }
svg.curve { display: block; width: 100%; height: auto; touch-action: pan-y; }
svg text { fill: var(--muted); font-family: inherit; }
svg path { fill: none; }
.grid path { stroke: var(--rule); stroke-width: 1; }
.axis path { stroke: var(--muted); stroke-width: 1; }
.logged { stroke: var(--line); stroke-width: 1; opacity: 0.3; }
.legend .logged { opacity: 0.6; }
.smooth { stroke: var(--line); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
path.held-out { stroke: var(--held-out); stroke-width: 1.2; stroke-dasharray: 2 3; }
circle.held-out { fill: var(--held-out); stroke: var(--card); stroke-width: 1.5; }
.restart path { stroke: var(--restart); stroke-width: 1.2; stroke-dasharray: 4 3; }
.phase path { stroke: var(--phase); stroke-width: 1.4; }
.restart text { fill: var(--restart); }
.phase text { fill: var(--phase); }
.restart path.hit, .phase path.hit { stroke: transparent; stroke-width: 9; stroke-dasharray: none; }
.cursor path { stroke: var(--muted); stroke-width: 1; }
.cursor circle { fill: var(--line); stroke: var(--card); stroke-width: 1.5; }
.reading { font-variant-numeric: tabular-nums; white-space: nowrap; }
footer { margin-top: 40px; color: var(--muted); font-size: 13px; }
@media print {
  body { background: none; } main { max-width: none; padding: 0; }
  figure, .card, .tiles > div { break-inside: avoid; }
}
"""

# One cursor for all figures: each shows its own value at the update that is pointed at.
SCRIPT = """
const curves = [...document.querySelectorAll("svg.curve")].map((svg) => {
  const group = document.createElementNS(svg.namespaceURI, "g");
  const line = document.createElementNS(svg.namespaceURI, "path");
  const dot = document.createElementNS(svg.namespaceURI, "circle");
  group.setAttribute("class", "cursor");
  group.setAttribute("visibility", "hidden");
  dot.setAttribute("r", "4");
  group.append(line, dot);
  svg.append(group);
  const reading = svg.parentElement.querySelector(".reading");
  return {svg, group, line, dot, reading, last: reading.textContent,
          readings: JSON.parse(svg.dataset.readings)};
});
const show = (x) => {
  for (const {group, line, dot, reading, readings} of curves) {
    if (!readings.length) continue;
    const near = readings.reduce((a, b) => (Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a));
    line.setAttribute("d", `M${near[0]} 26V220`);
    dot.setAttribute("cx", near[0]);
    dot.setAttribute("cy", near[1]);
    group.setAttribute("visibility", "visible");
    reading.textContent = `${near[3]} at ${near[2].toLocaleString("en")}`;
  }
};
const hide = () => {
  for (const {group, reading, last} of curves) {
    group.setAttribute("visibility", "hidden");
    reading.textContent = last;
  }
};
for (const {svg} of curves) {
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    show((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width);
  });
  svg.addEventListener("pointerleave", hide);
}
"""
