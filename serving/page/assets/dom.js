/** Elements, made without HTML text: whatever a user or a model writes stays text. */

/**
 * Makes an element.
 * @param {string} tag
 * @param {Object} attributes a function listens to the event of that name; true is an attribute
 *     without a value, false is none.
 * @param {...(Node|string)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/** The element of an id, which index.html has. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * A table whose first column names the rows.
 * @param {string} caption
 * @param {string[]} heads "" is above bars.
 * @param {Array<{cells: Array<Node|string|number>, isBest?: boolean}>} rows numbers stand right.
 */
export function table(caption, heads, rows) {
  const isNumber = (column) => rows.length > 0 && typeof rows[0].cells[column] === "number";
  const head = heads.map((name, column) => (name
    ? element("th", { scope: "col", class: isNumber(column) ? "number" : "" }, name)
    : element("td", { "aria-hidden": "true" })));
  const body = rows.map(({ cells, isBest = false }) => {
    const [first, ...others] = cells;
    return element("tr", { class: isBest ? "is-best" : "" },
      element("th", { scope: "row" }, String(first)), ...others.map(cell));
  });
  return element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}

function cell(value) {
  if (value instanceof HTMLTableCellElement) return value;
  if (typeof value === "number") return element("td", { class: "number" }, value.toFixed(3));
  return element("td", {}, value);
}

/**
 * A table cell with a bar; screen readers pass over it, as the number stands next to it.
 * @param {number} share from 0 to 1.
 */
export function bar(share) {
  const inner = element("span");
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return element("td", { class: "bar", "aria-hidden": "true" }, inner);
}
