/** Which fields a signature asks for, and how their texts become a request. */

import { element } from "./dom.js";

const same = (value) => value;
const text = (name, label, rows, hint = "") => ({ name, label, rows, hint, read: same });
const lines = (value) => value.split("\n").filter((line) => line.trim());
const words = (value) => value.split(/\s+/).filter(Boolean);

// From the inputs of a signature, all of them strings, to fields; `rank` is that of the input.
const FORMS = [
  { noun: "text", fields: [text("text", "Text", 4)] },
  { noun: "pair", fields: [text("text_a", "First text", 3), text("text_b", "Second text", 3)] },
  {
    noun: "question",
    fields: [text("question", "Question", 2), text("context", "Context", 8)],
  },
  {
    noun: "context",
    fields: [
      text("context", "Context", 3),
      { ...text("choices", "Choices", 4, "One per line."), rank: 2, read: lines },
    ],
  },
  {
    noun: "sentence",
    fields: [
      { ...text("words", "Words", 3, "With white space between them."), rank: 2, read: words },
    ],
  },
];

// Classify and Regress read tf.Examples; their features have the names of the texts.
const EXAMPLE_METHODS = [
  { method: ":classify", outputs: ["classes", "scores"] },
  { method: ":regress", outputs: ["outputs"] },
];

/**
 * The form of a signature.
 * @param {string} name of the signature.
 * @param {Object} all signatures of the model by name, as the metadata has them.
 * @returns {Object} `noun`, `fields`, and what makes a request: `suffix` and `body(rows)`, where a
 *     row is an object from field to text. The JSON editor has one field, `json`, and `isJson`.
 */
export function formOf(name, all) {
  const signature = all[name];
  const form = FORMS.find((each) => isFor(each, signature.inputs));
  if (form) {
    return { ...form, suffix: ":predict", body: (rows) => ({
      ...named(name), instances: aligned(form, rows) }) };
  }
  const { method, features } = ofExamples(signature, all);
  if (features) {
    return { ...features, suffix: method, body: (rows) => ({
      ...named(name), examples: aligned(features, rows) }) };
  }
  return {
    noun: "request",
    isJson: true,
    fields: [{ ...text("json", "Request", 14, "The body of the request, in JSON."), isCode: true }],
    suffix: method ?? ":predict",
    body: ([row]) => JSON.parse(row.json),
    template: JSON.stringify(template(name, signature, method), null, 2),
  };
}

/** What a row of texts is for answers: values by field, such as lists of choices. */
export function valuesOf(form, row) {
  return Object.fromEntries(form.fields.map(({ name, read }) => [name, read(row[name] ?? "")]));
}

function isFor(form, inputs) {
  return Object.keys(inputs).length === form.fields.length && form.fields.every(
    ({ name, rank = 1 }) => inputs[name]?.dtype === "DT_STRING" && rankOf(inputs[name]) === rank);
}

/** The method that answers a signature of serialized tf.Examples, and the form of its features. */
function ofExamples(signature, all) {
  const names = Object.keys(signature.inputs);
  if (names.length !== 1 || signature.inputs[names[0]].dtype !== "DT_STRING") return {};
  const outputs = Object.keys(signature.outputs);
  const found = EXAMPLE_METHODS.find(
    (each) => outputs.length && outputs.every((output) => each.outputs.includes(output)));
  if (!found || names[0] !== "inputs") return {};
  const inputs = all.serving_default?.inputs ?? {};
  return {
    method: found.method,
    features: FORMS.slice(0, 2).find((form) => isFor(form, inputs)),
  };
}

/** Values of all rows; lists are filled up with "", because rows must be alike. */
function aligned(form, rows) {
  const values = rows.map((row) => valuesOf(form, row));
  for (const { name, rank } of form.fields) {
    if (rank !== 2) continue;
    const longest = Math.max(1, ...values.map((each) => each[name].length));
    for (const each of values) {
      each[name] = [...each[name], ...Array(longest - each[name].length).fill("")];
    }
  }
  return values;
}

function named(name) {
  return name === "serving_default" ? {} : { signature_name: name };
}

// The JSON editor.

const VALUES = { DT_STRING: "", DT_BOOL: false, DT_FLOAT: 0.5, DT_DOUBLE: 0.5, DT_HALF: 0.5 };

function template(name, signature, method) {
  if (method) return { ...named(name), examples: [{ feature: "" }] };
  const inputs = Object.entries(signature.inputs);
  const isRow = inputs.every(([, info]) => rankOf(info) > 0);
  const values = Object.fromEntries(inputs.map(
    ([input, info]) => [input, sample(info, isRow ? 1 : 0)]));
  return isRow
    ? { ...named(name), instances: [values] }
    : { ...named(name), inputs: values };
}

/** A value of an input, without its first `from` axes; an axis of any size has one element. */
function sample(info, from) {
  const sizes = (info.tensor_shape.dim ?? []).map((dim) => Math.max(1, Number(dim.size)));
  return sizes.slice(from).reduceRight(
    (value, size) => Array(Math.min(size, 8)).fill(value), VALUES[info.dtype] ?? 0);
}

function rankOf(info) {
  return info.tensor_shape.unknown_rank ? 1 : (info.tensor_shape.dim ?? []).length;
}

// Elements.

/**
 * A row of fields.
 * @param {Object} form
 * @param {Object} row from field to text.
 * @param {number} number from 1; `total` rows are there.
 * @param {{onInput: Function, onRemove: Function}} handlers
 */
export function rowElement(form, row, number, total, { onInput, onRemove }) {
  const title = `${capital(form.noun)} ${number}`;
  const fields = form.fields.map((field) => fieldElement(form, field, row, number, total, onInput));
  const buttons = [];
  if (form.isMasked) buttons.push(maskButton(fields[0].querySelector("textarea")));
  if (total > 1) {
    buttons.push(element("button", { type: "button", class: "quiet", click: onRemove },
      `Remove ${title.toLowerCase()}`));
  }
  const isNamed = total > 1 && form.fields.length > 1;
  return element("fieldset", isNamed ? {} : { "aria-label": title },
    ...(isNamed ? [element("legend", {}, title)] : []), ...fields, ...buttons);
}

function fieldElement(form, field, row, number, total, onInput) {
  const id = `${field.name}-${number}`;
  const area = element("textarea", {
    id,
    rows: total > 1 && form.fields.length === 1 ? Math.min(2, field.rows) : field.rows,
    spellcheck: "false",
    autocomplete: "off",
    class: field.isCode ? "code" : "",
    ...(field.hint ? { "aria-describedby": `${id}-hint` } : {}),
    input: (event) => onInput(field.name, event.target.value),
  });
  area.value = row[field.name] ?? "";
  const label = total > 1 && form.fields.length === 1 ? `${field.label} ${number}` : field.label;
  const hint = element("span", { id: `${id}-hint`, class: "hint" }, field.hint);
  return element("div", { class: "field" }, element("label", { for: id }, label), area,
    ...(field.hint ? [hint] : []));
}

/** Puts [MASK] where the cursor is. */
function maskButton(area) {
  return element("button", { type: "button", class: "quiet", click: () => {
    area.setRangeText("[MASK]", area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
    area.focus();
  } }, "Insert [MASK]");
}

export function capital(noun) {
  return noun[0].toUpperCase() + noun.slice(1);
}
