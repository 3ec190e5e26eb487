/** Inputs to begin with, by the name of a view or the noun of a form. */

const NEWS = "Apollo 11 landed on the Moon in July 1969. A Saturn V carried Neil Armstrong, Buzz " +
  "Aldrin and Michael Collins from Florida. Collins stayed in orbit while the others walked on " +
  "the surface.";

const OF_VIEWS = {
  "entities": [
    [{ text: "Neil Armstrong was born in Wapakoneta, Ohio, and worked for NASA." }],
    [{ text: "The Rhine flows from Switzerland through Cologne to Rotterdam." }],
    [{ text: "🚀 In Zürich, Marie Curie met Albert Einstein." }],
  ],
  "fill-mask": [
    [{ text: "The capital of France is [MASK]." }],
    [{ text: "She poured a cup of [MASK] and opened the [MASK]." }],
  ],
  "vectors": [
    [
      { text: "A man is playing a guitar." },
      { text: "Someone plays an instrument." },
      { text: "The stock market fell sharply today." },
      { text: "Shares lost much of their value." },
    ],
  ],
};

const OF_FORMS = {
  text: [
    [{ text: "Which rocket carried the astronauts to the Moon?" }],
    [{ text: "It was one of the best films that I have seen this year." }],
    [
      { text: "Which element do plants give off?" },
      { text: "The river flows through Basel, Cologne and Rotterdam." },
    ],
  ],
  pair: [
    [{ text_a: "A man is playing a guitar.", text_b: "Someone plays an instrument." }],
    [{ text_a: "The company bought its rival.", text_b: "The rival bought the company." }],
  ],
  question: [
    [{ question: "Which rocket carried the astronauts?", context: NEWS }],
    [{ question: "Who stayed in orbit?", context: NEWS }],
    [{ question: "What did the mission cost?", context: NEWS }],
  ],
  context: [
    [{ context: "She put the kettle on the stove.",
      choices: "Soon the water boiled.\nThe kettle sang of the sea.\nIt rained in March." }],
  ],
  sentence: [
    [{ words: "Neil Armstrong was born in Ohio ." }],
  ],
};

/**
 * Examples for a form, at least one: lists of rows, each an object from field to text.
 * @param {Object} form
 * @param {Object|null} view
 */
export function examplesOf(form, view) {
  if (form.isJson) return [[{ json: form.template }]];
  const found = (form.noun === "text" && OF_VIEWS[view?.name]) || OF_FORMS[form.noun];
  return structuredClone(found);
}
