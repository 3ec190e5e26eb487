// One cursor for all figures: each shows its own value at the update that is pointed at.
// The page is complete without it.
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
