/** What is shown of an answer: the outputs of a signature decide. */

import { bar, element, table } from "./dom.js";
import { codePoints, marked } from "./spans.js";

const MOST_BARS = 10;
const MOST_SPANS = 5;

/**
 * Predictions as objects from output to value, one per row.
 * @param {Object} answer of any method, in row format.
 * @param {string[]} outputs of the signature.
 */
export function rowsOf(answer, outputs) {
  if (answer.results) return answer.results.map(ofResult);
  if (!Array.isArray(answer.predictions)) return [];
  // The answer of a signature with one output has no name.
  return outputs.length === 1
    ? answer.predictions.map((value) => ({ [outputs[0]]: value })) : answer.predictions;
}

/** Classify answers pairs of label and score, Regress a number. */
function ofResult(result) {
  if (!Array.isArray(result)) return { score: result };
  const labels = result.map(([label], index) => label || `class ${index}`);
  const probabilities = result.map(([, score]) => score);
  const label = labels[probabilities.indexOf(Math.max(...probabilities))];
  return { label, labels, probabilities };
}

/**
 * What shows the answers of a signature, or null if only the JSON can be shown.
 * @param {Object} outputs of the signature: from name to dtype and shape.
 * @param {Object} form
 * @returns {{name: string, row: Function, all?: Function}} `row(prediction, values)` and
 *     `all(predictions, values)` make elements.
 */
export function viewOf(outputs, form) {
  const given = OF_METHODS[form.suffix] ?? outputs;
  const fits = ([name, rank]) => given[name] && (given[name].tensor_shape?.unknown_rank ||
    !given[name].tensor_shape || given[name].tensor_shape.dim.length === rank);
  return VIEWS.find(({ needs, readsTexts }) => (
    Object.entries(needs).every(fits) && !(readsTexts && form.isJson))) ?? null;
}

// Classification.

function oneLabel({ label, labels, probabilities }) {
  const names = labels ?? probabilities.map((_, index) => `class ${index}`);
  const pairs = names.map((name, index) => [name, probabilities[index]]);
  return [best(label), ...bars(pairs, "Probability of each label", (name) => name === label)];
}

function severalLabels({ labels, probabilities }) {
  const pairs = labels.map((name, index) => [name, probabilities[index]]);
  const held = pairs.filter(([, share]) => share >= 0.5).map(([name]) => name);
  return [
    best(held.join(", ") || "No label has a probability of 0.5 or more"),
    ...bars(pairs, "Probability of each label; each is decided by itself",
      (name) => held.includes(name)),
  ];
}

function score(prediction) {
  return [best(prediction.score.toFixed(3))];
}

function best(text) {
  return element("p", { class: "best" }, text);
}

/** A table with bars, most probable first. */
function bars(pairs, caption, isBest, heads = ["Label", "Probability"]) {
  const sorted = [...pairs].sort((a, b) => b[1] - a[1]);
  return cutTable(caption, [...heads, ""], MOST_BARS, sorted.map(
    ([name, share]) => ({ cells: [name, share, bar(share)], isBest: isBest(name) })));
}

/** A table of the first rows, and a button that shows all, if there are more. */
function cutTable(caption, heads, most, rows) {
  if (rows.length <= most) return [table(caption, heads, rows)];
  const place = element("div", {}, table(caption, heads, rows.slice(0, most)));
  const button = element("button", { type: "button", class: "quiet", click: () => {
    place.replaceChildren(table(caption, heads, rows));
    place.tabIndex = -1;
    place.focus(); // the button, which had it, goes
    button.remove();
  } }, `Show all ${rows.length}`);
  return [place, button];
}

// Tags and entities.

function entities(prediction, values) {
  const found = prediction.entities.map((entity, index) => ({
    entity,
    type: prediction.entity_types[index],
    start: prediction.entity_starts[index],
    end: prediction.entity_ends[index],
    score: prediction.entity_scores[index],
  })).filter(({ type }) => type); // what fills up the row has none
  const shown = values.words
    ? marked(values.words, " ", found) : marked(codePoints(values.text), "", found);
  if (!found.length) return [shown, element("p", {}, "No entity was found.")];
  return [shown, entityTable(found, values.words ? "Words" : "Characters")];
}

function entityTable(found, heads) {
  const rows = found.map(({ entity, type, start, end, score: share }) => (
    { cells: [entity, type, share, `${start} to ${end}`] }));
  return table("Entities, with the mean probability of their tags",
    ["Entity", "Type", "Score", heads], rows);
}

function tags(prediction, values) {
  const words = prediction.words ?? values.words;
  const shown = element("p", { class: "text" });
  words.forEach((word, index) => {
    const tag = prediction.tags[index];
    if (tag) {
      shown.append(element("span", { class: "word" }, word,
        element("span", { class: "type" }, tag)), " ");
    }
  });
  return [shown];
}

// Questions.

function spanAnswer(prediction, values) {
  const place = element("div", { class: "scrolls" });
  const show = (start, end) => place.replaceChildren(
    marked(codePoints(values.context), "", start < 0 ? [] : [{ start, end, type: "" }]));
  show(prediction.start, prediction.end);
  const facts = [`Probability among the best: ${prediction.score.toFixed(3)}.`];
  if (prediction.null_odds !== undefined && prediction.null_odds !== null) {
    facts.push(`Null odds (score of no answer less that of the best span): ${
      prediction.null_odds.toFixed(2)}.`);
  }
  return [
    best(prediction.has_answer ? prediction.answer : "No answer in the context"),
    element("p", { class: "hint" }, facts.join(" ")),
    place,
    ...bestAnswers(prediction, show),
  ];
}

function bestAnswers(prediction, show) {
  const { n_best_answers: answers, n_best_scores: scores } = prediction;
  if (!answers) return [];
  const buttons = [];
  const rows = [];
  answers.forEach((answer, index) => {
    if (!(scores[index] > 0)) return; // what fills up the row
    const start = prediction.n_best_starts[index];
    const end = prediction.n_best_ends[index];
    const isChosen = start === prediction.start && end === prediction.end;
    const name = answer || "(no answer)";
    const button = element("button", {
      type: "button",
      class: "quiet",
      "aria-pressed": String(isChosen),
      "aria-label": `Mark ${name}`,
      click: () => {
        show(start, end);
        for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      },
    }, "Mark");
    buttons.push(button);
    rows.push({ cells: [name, scores[index], button], isBest: isChosen });
  });
  return cutTable("The best answers", ["Answer", "Probability", "In context"], MOST_SPANS, rows);
}

// Choices and masks.

function choices(prediction, values) {
  const shares = prediction.probabilities;
  const pairs = values.choices.map((choice, index) => [choice, shares[index]]);
  const chosen = values.choices[prediction.choice];
  return [
    best(chosen ?? "There is no choice"),
    ...bars(pairs, "Probability of each choice", (name) => name === chosen,
      ["Choice", "Probability"]),
  ];
}

function masks(prediction, values) {
  const slots = prediction.tokens.map((tokens, index) => (
    { tokens, shares: prediction.probabilities[index] })).filter(
    ({ shares }) => shares.some((share) => share > 0)); // rows with fewer are filled up
  if (!slots.length) return [element("p", {}, "There is no [MASK] in the text.")];
  const tables = slots.flatMap(({ tokens, shares }, index) => bars(
    tokens.map((token, rank) => [token, shares[rank]]).filter(([, share]) => share > 0),
    `Tokens for [MASK] ${index + 1}`, (token) => token === tokens[0], ["Token", "Probability"]));
  return [filledIn(values.text, slots), ...tables];
}

/** The text with the best token in place of each [MASK]. */
function filledIn(text, slots) {
  const units = [];
  const spans = [];
  text.split("[MASK]").forEach((part, index) => {
    if (index > 0) {
      const token = slots[index - 1]?.tokens[0];
      spans.push({ start: units.length, end: units.length + 1, type: "" });
      units.push(token === undefined ? "[MASK]" : token.replace(/^##/, ""));
    }
    if (part) units.push(part);
  });
  return marked(units, "", spans);
}

// Vectors.

function vector({ embedding }) {
  const length = Math.hypot(...embedding);
  const head = embedding.slice(0, 6).map((number) => number.toFixed(3)).join(", ");
  const facts = `${embedding.length} numbers, length ${length.toFixed(3)}: ${head}, ...`;
  return [element("p", {}, facts)];
}

/** Cosine similarities of all pairs of texts. */
function similarities(predictions, values) {
  const vectors = predictions.map(({ embedding }) => embedding);
  if (vectors.length < 2) {
    return [element("p", { class: "hint" }, "Add a text to see how similar two are.")];
  }
  const texts = values.map(({ text }) => element("li", {}, text));
  const heads = vectors.map((_, index) => element("th", { scope: "col" }, String(index + 1)));
  const rows = vectors.map((one, index) => element("tr", {},
    element("th", { scope: "row" }, `Text ${index + 1}`),
    ...vectors.map((other) => similarityCell(cosine(one, other)))));
  const matrix = element("table", { class: "matrix" },
    element("caption", {}, "Cosine similarity of each pair of texts"),
    element("thead", {}, element("tr", {}, element("td"), ...heads)),
    element("tbody", {}, ...rows));
  const region = { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Similarities" };
  return [
    ...(texts.length ? [element("ol", { class: "texts" }, ...texts)] : []),
    element("div", region, matrix),
  ];
}

function similarityCell(value) {
  const made = element("td", {}, value.toFixed(2));
  made.style.setProperty("--share", String(Math.max(0, value) * 100));
  return made;
}

function cosine(one, other) {
  const product = one.reduce((sum, number, index) => sum + number * other[index], 0);
  const lengths = Math.hypot(...one) * Math.hypot(...other);
  return lengths > 0 ? product / lengths : 0;
}

// What `rowsOf` makes of the answers of these methods.
const OF_METHODS = {
  ":classify": { label: {}, labels: {}, probabilities: {} },
  ":regress": { score: {} },
};

// The first one whose outputs are there counts; each with its rank, batch included.
const VIEWS = [
  {
    name: "question answering",
    needs: { answer: 1, start: 1, end: 1, score: 1, has_answer: 1 },
    readsTexts: true,
    row: spanAnswer,
  },
  {
    name: "multiple choice", needs: { choice: 1, probabilities: 2 }, readsTexts: true, row: choices,
  },
  {
    name: "entities",
    needs: { entities: 2, entity_types: 2, entity_starts: 2, entity_ends: 2, entity_scores: 2 },
    readsTexts: true,
    row: entities,
  },
  { name: "tags", needs: { tags: 2, scores: 2 }, readsTexts: true, row: tags },
  { name: "fill-mask", needs: { tokens: 3, probabilities: 3 }, readsTexts: true, row: masks },
  { name: "vectors", needs: { embedding: 2 }, row: vector, all: similarities },
  { name: "classification", needs: { label: 1, probabilities: 2 }, row: oneLabel },
  {
    name: "classification, several labels", needs: { labels: 2, probabilities: 2 },
    row: severalLabels,
  },
  { name: "regression", needs: { score: 1 }, row: score },
];
