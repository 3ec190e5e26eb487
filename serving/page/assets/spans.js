/** Texts with marked parts; positions are Unicode code points, as models count them. */

import { element } from "./dom.js";

const NUM_COLOURS = 6;

/** The code points of a text; JavaScript itself counts UTF-16 units. */
export function codePoints(text) {
  return Array.from(text);
}

/**
 * A text in which spans are marked.
 * @param {string[]} units code points, or words.
 * @param {string} joint what stands between two units.
 * @param {Array<{start: number, end: number, type?: string}>} spans those that overlap an earlier
 *     one, or are not in the text, are left out.
 */
export function marked(units, joint, spans) {
  const types = [...new Set(spans.map(({ type }) => type))];
  const paragraph = element("p", { class: "text" });
  let done = 0;
  const write = (end) => paragraph.append(units.slice(done, end).join(joint));
  for (const { start, end, type } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < done || end <= start || end > units.length) continue;
    write(start);
    if (start > done && joint) paragraph.append(joint);
    const mark = element("mark", { "data-colour": types.indexOf(type) % NUM_COLOURS },
      units.slice(start, end).join(joint));
    if (type) mark.append(element("span", { class: "type" }, type));
    paragraph.append(mark, end < units.length ? joint : "");
    done = end;
  }
  write(units.length);
  return paragraph;
}
