/** The page: which model is asked, with what, and what it answered. */

import * as api from "./api.js";
import { rowsOf, viewOf } from "./answers.js";
import { byId, element } from "./dom.js";
import { examplesOf } from "./examples.js";
import { capital, formOf, rowElement, valuesOf } from "./forms.js";

const MOST_ROWS = 64;
const MOST_SHOWN = 20_000; // characters of a raw answer; more than that makes a page slow
const THEMES = ["system", "light", "dark"];

// What is chosen, and what was found out about it.
const state = {
  model: "", version: "", signature: "", signatures: {},
  form: null, view: null,
  rows: [], // of texts by field
  isEdited: false, // an example that nobody changed gives way to another model's
  raw: "",
  asking: null, // AbortController of the request under way
  loading: 0, // number of the latest choice: answers to earlier ones are dropped
};

// Models, versions and signatures.

async function loadModels() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const names = await api.modelNames();
  fill(byId("model"), names.map((name) => [name, name]), state.model || wanted.get("model"));
  if (!names.length) {
    takeFormAway();
    byId("about").textContent = "No model is loaded yet. Look for new versions in a moment.";
    return;
  }
  await loadModel(wanted.get("version") ?? "", wanted.get("signature") ?? "");
}

async function loadModel(version, signature) {
  const number = ++state.loading;
  state.model = byId("model").value;
  const versions = await api.versions(state.model);
  if (number !== state.loading) return;
  const newest = versions.find(({ state: each }) => each === "AVAILABLE");
  const rows = versions.map(({ version: name, state: each, status }) => {
    const problem = status?.error_message ? `: ${status.error_message}` : "";
    const isLoaded = each === "AVAILABLE";
    return [name, isLoaded ? name : `${name} (${each}${problem})`, !isLoaded];
  });
  fill(byId("version"), [["", `newest (${newest?.version ?? "none"})`], ...rows], version);
  await loadVersion(signature);
}

async function loadVersion(signature) {
  const number = ++state.loading;
  state.version = byId("version").value;
  const signatures = await api.signatures(state.model, state.version);
  if (number !== state.loading) return;
  state.signatures = signatures;
  const names = Object.keys(signatures).sort((a, b) => isDefault(b) - isDefault(a));
  fill(byId("signature"), names.map((name) => [name, name]), signature);
  chooseSignature();
}

const isDefault = (name) => Number(name === "serving_default");

/** Fills a list with [value, text, isDisabled?] and chooses one, the first if it is not there. */
function fill(select, options, wanted) {
  select.replaceChildren(...options.map(([value, text, isDisabled = false]) => (
    element("option", { value, disabled: isDisabled }, text))));
  const found = options.find(([value, , isDisabled]) => value === wanted && !isDisabled);
  select.value = found ? wanted : options[0]?.[0] ?? "";
}

function chooseSignature() {
  state.signature = byId("signature").value;
  const signature = state.signatures[state.signature];
  if (!signature) {
    takeFormAway();
    byId("about").textContent = "This version has no signature that takes inputs.";
    return;
  }
  state.form = formOf(state.signature, state.signatures);
  state.view = viewOf(signature.outputs, state.form);
  state.form.isMasked = state.view?.name === "fill-mask";
  const names = (tensors) => Object.keys(tensors).sort().join(", ");
  byId("about").textContent = `${capital(state.view?.name ?? "other outputs")}. ` +
    `Inputs: ${names(signature.inputs)}. Outputs: ${names(signature.outputs)}.`;
  const chosen = { model: state.model, version: state.version, signature: state.signature };
  history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
  clearAnswer();
  showExamples();
  if (state.isEdited) keepTexts();
  else useExample(0);
}

/** Leaves nothing to ask; texts that were written come back with the next form for them. */
function takeFormAway() {
  state.form = null;
  clearAnswer();
  for (const id of ["rows", "examples", "about", "curl"]) byId(id).replaceChildren();
}

/** Keeps texts of fields that the new form has, too. */
function keepTexts() {
  const names = state.form.fields.map(({ name }) => name);
  if (!state.rows.some((row) => names.some((name) => row[name]))) useExample(0);
  else showRows();
}

// Input.

function showExamples() {
  const examples = examplesOf(state.form, state.view);
  byId("examples").replaceChildren(...examples.map((_, index) => element("button", {
    type: "button", class: "quiet", click: () => useExample(index),
  }, state.form.isJson ? "Template" : `Example ${index + 1}`)));
}

function useExample(index) {
  state.rows = examplesOf(state.form, state.view)[index];
  state.isEdited = false;
  showRows();
}

function showRows() {
  const { form, rows } = state;
  byId("rows").replaceChildren(...rows.map((row, index) => rowElement(
    form, row, index + 1, rows.length, {
      onInput: (name, value) => {
        row[name] = value;
        state.isEdited = true;
        showRequest();
      },
      onRemove: () => {
        rows.splice(index, 1);
        showRows();
        focusRow(Math.max(0, index - 1));
      },
    })));
  byId("add").hidden = Boolean(form.isJson) || rows.length >= MOST_ROWS;
  byId("add").textContent = `Add a ${form.noun}`;
  showRequest();
}

function focusRow(index) {
  byId("rows").children[index]?.querySelector("textarea")?.focus();
}

function addRow() {
  if (!state.form) return;
  state.rows.push({});
  state.isEdited = true;
  showRows();
  focusRow(state.rows.length - 1);
}

/** The rows without lone surrogates, which no UTF-8 text has. */
function wellFormed(rows) {
  return rows.map((row) => Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value.toWellFormed?.() ?? value])));
}

function request() {
  const rows = wellFormed(state.rows);
  const path = api.modelPath(state.model, state.version, state.form.suffix);
  const values = rows.map((row) => valuesOf(state.form, row));
  return { path, body: state.form.body(rows), values };
}

function showRequest() {
  try {
    const { path, body } = request();
    byId("curl").textContent = api.curl(path, body);
  } catch (error) {
    byId("curl").textContent = `The request is not JSON: ${error.message}`;
  }
}

// Asking.

async function ask() {
  if (!state.form) return;
  state.asking?.abort();
  const control = new AbortController();
  state.asking = control;
  byId("stop").hidden = false;
  byId("error").textContent = "";
  byId("status").textContent = "Asking ...";
  let said;
  try {
    said = await answered(control);
  } catch (error) {
    said = error.name === "AbortError" ? "Stopped." : "";
    if (!said && state.asking === control) showFailure(error);
  }
  if (state.asking !== control) return; // another question was asked meanwhile
  byId("status").textContent = said;
  byId("stop").hidden = true;
  state.asking = null;
}

/** Asks, shows the answer, and says how long it took. */
async function answered(control) {
  const { path, body, values } = request();
  const { form, view, signatures, signature } = state;
  const { answer, text, milliseconds } = await api.ask(path, body, control.signal);
  if (state.asking !== control) return "";
  const predictions = rowsOf(answer, Object.keys(signatures[signature].outputs));
  showAnswer(predictions, form.isJson ? [] : values, view, form);
  showRaw(text);
  scrollToAnswers();
  const trip = await api.roundTrip(control.signal).catch(() => null);
  return timing(predictions.length, milliseconds, trip);
}

/** Takes away the answer of another model or version, and gives up what was asked of it. */
function clearAnswer() {
  state.asking?.abort();
  state.asking = null;
  byId("stop").hidden = true;
  byId("error").textContent = "";
  byId("status").textContent = "Nothing was asked yet.";
  byId("shown").replaceChildren();
  byId("raw-answer").hidden = true;
}

function showFailure(error) {
  showError(byId("error"), error);
  byId("shown").replaceChildren();
  byId("raw-answer").hidden = true;
}

/** On a phone the answers are below what was asked. */
function scrollToAnswers() {
  const section = byId("answers");
  if (section.getBoundingClientRect().top > innerHeight - 60) section.scrollIntoView();
}

/** How long it took, and which part of it needs no model. */
function timing(numRows, milliseconds, trip) {
  const what = numRows === 1 ? "1 answer" : `${numRows || "Some"} answers`;
  const total = `${what} in ${rounded(milliseconds)} ms`;
  if (trip === null) return `${total}.`;
  const network = Math.min(trip, milliseconds);
  return `${total}: the server about ${rounded(milliseconds - network)} ms, network and browser ` +
    `about ${rounded(network)} ms.`;
}

const rounded = (milliseconds) => milliseconds.toFixed(milliseconds < 10 ? 1 : 0);

function showAnswer(predictions, values, view, form) {
  const parts = view && predictions.length ? pictures(predictions, values, view, form) : null;
  byId("raw-answer").open = !parts;
  byId("shown").replaceChildren(...(parts ?? [element("p", { class: "hint" },
    "There is no picture of these outputs; the raw answer has them.")]));
}

/** What a view makes of the answers; null if they only have the names of those it knows. */
function pictures(predictions, values, view, form) {
  try {
    const parts = predictions.map((prediction, index) => element("div", { class: "answer" },
      ...heading(index, predictions.length, form, values[index]),
      ...view.row(prediction, values[index] ?? {})));
    return [...(view.all ? view.all(predictions, values) : []), ...parts];
  } catch (error) {
    console.info("The answer is not shown:", error);
    return null;
  }
}

/** Says which of several rows an answer is for. */
function heading(index, total, form, values) {
  if (total < 2) return [];
  const text = Object.values(values ?? {}).flat().join(" | ");
  const cut = text.length > 160 ? `${text.slice(0, 160).toWellFormed?.() ?? text}...` : text;
  return [element("h3", {}, `${capital(form.noun)} ${index + 1}`),
    element("p", { class: "asked" }, cut)];
}

function showRaw(text) {
  state.raw = text;
  const rest = text.length - MOST_SHOWN;
  byId("raw").textContent = rest > 0
    ? `${text.slice(0, MOST_SHOWN)}\n... ${rest} more characters; the button copies them, too.`
    : text;
  byId("raw-answer").hidden = false;
}

function showError(place, error) {
  const status = error instanceof api.ServerError && error.status ? `${error.status}: ` : "";
  place.textContent = `${status}${error.message}`;
}

// Copying and colours.

async function copy(text, source) {
  try {
    await navigator.clipboard.writeText(text);
    byId("copied").textContent = "Copied.";
  } catch { // without HTTPS, or not allowed
    getSelection().selectAllChildren(source);
    byId("copied").textContent = "Selected; Ctrl+C copies it.";
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const names = { system: "as the system", light: "light", dark: "dark" };
  byId("theme").textContent = `Colours: ${names[theme]}`;
  try {
    localStorage.setItem("theme", theme);
  } catch { // a browser may keep nothing
  }
}

function keptTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function nextTheme() {
  const now = THEMES.indexOf(document.documentElement.dataset.theme);
  setTheme(THEMES[(now + 1) % THEMES.length]);
}

// Start.

/** A listener that shows the server's words if what it calls fails. */
function loading(work) {
  return async () => {
    byId("model-error").textContent = "";
    try {
      await work();
    } catch (error) {
      takeFormAway();
      showError(byId("model-error"), error);
    }
  };
}

function start() {
  setTheme(THEMES.find((theme) => theme === keptTheme()) ?? "system");
  byId("theme").addEventListener("click", nextTheme);
  byId("model").addEventListener("change", loading(() => loadModel("", "")));
  byId("version").addEventListener("change", loading(() => loadVersion(state.signature)));
  byId("signature").addEventListener("change", chooseSignature);
  byId("refresh").addEventListener("click", loading(loadModels));
  byId("add").addEventListener("click", addRow);
  byId("stop").addEventListener("click", () => state.asking?.abort());
  byId("copy-curl").addEventListener("click", () => copy(byId("curl").textContent, byId("curl")));
  byId("copy-raw").addEventListener("click", () => copy(state.raw, byId("raw")));
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  byId("form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      ask();
    }
  });
  loading(loadModels)();
}

start();
