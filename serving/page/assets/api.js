/** TensorFlow Serving's REST API, and the two ways in which a page can measure it. */

/** An answer of the server that is an error, or no answer at all (status 0). */
export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * The path of a model, relative to this page: it works behind a proxy with a prefix, too.
 * @param {string} name
 * @param {string} version "" for the newest one.
 * @param {string} suffix "", "/metadata", ":predict", ...
 */
export function modelPath(name, version, suffix = "") {
  const chosen = version ? `/versions/${encodeURIComponent(version)}` : "";
  return `v1/models/${encodeURIComponent(name)}${chosen}${suffix}`;
}

/** The names of the models, which TensorFlow Serving's API cannot list. */
export async function modelNames() {
  return (await send("models.json", { cache: "no-store" })).answer.models;
}

/** The versions of a model, newest first: {version, state, status}. */
export async function versions(name) {
  return (await send(modelPath(name, ""))).answer.model_version_status;
}

/** The signatures of a model by name, without those that take nothing. */
export async function signatures(name, version) {
  const { answer } = await send(modelPath(name, version, "/metadata"));
  const all = answer.metadata.signature_def.signature_def;
  return Object.fromEntries(Object.entries(all).filter(
    ([, signature]) => Object.keys(signature.inputs ?? {}).length > 0));
}

/**
 * Asks a model.
 * @param {string} path
 * @param {Object} body
 * @param {AbortSignal} signal
 * @returns {{answer: Object, text: string, milliseconds: number}}
 */
export function ask(path, body, signal) {
  return send(path, { method: "POST", body: JSON.stringify(body), signal });
}

/** Milliseconds that a request takes that needs no model: the best of three. */
export async function roundTrip(signal) {
  const times = [];
  for (let number = 0; number < 3; number++) {
    times.push((await send("models.json", { cache: "no-store", signal })).milliseconds);
  }
  return Math.min(...times);
}

async function send(path, options = {}) {
  const start = performance.now();
  let response;
  let text;
  try {
    response = await fetch(path, options);
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, `The server does not answer (${error.message}). Does it still run?`);
  }
  const milliseconds = performance.now() - start;
  let answer;
  try {
    answer = parse(text);
  } catch {
    throw new ServerError(response.status, `The answer is not JSON: ${text.slice(0, 300)}`);
  }
  if (!response.ok) throw new ServerError(response.status, String(answer?.error ?? text));
  return { answer, text, milliseconds };
}

/** Reads JSON as TensorFlow Serving writes it: NaN and Infinity are numbers of it. */
export function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const tokens = /"(?:[^"\\]|\\.)*"|-?\b(?:Infinity|NaN)\b/g;
    const valid = text.replace(tokens, (token) => (token[0] === '"' ? token : "null"));
    if (valid === text) throw error;
    return JSON.parse(valid);
  }
}

/** The request as a command for a POSIX shell. */
export function curl(path, body) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  return `curl ${quoted(new URL(path, document.baseURI).href)} \\\n  -d ${
    quoted(JSON.stringify(body))}`;
}
