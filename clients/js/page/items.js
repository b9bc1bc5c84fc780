// One item of a survey as a form. What is chosen lives in it, and is handed over when "Next" is
// pressed.

import { acts, choices, element, foreign, numberInput, numberTyped, paragraph } from "./elements.js";

const MOST_STEPS = 11; // of a scale whose steps are shown side by side

/** An item's words in one language. */
const labelsOf = (item, language) => item.labels.map((label) => label[language]);

/** How an answer is asked for: `parts` to show, `read` what was answered (undefined: nothing). */
function radios(labels, values, chosen) {
  return {
    parts: choices("answer", labels, values.findIndex((value) => value === chosen)),
    read: (form) => {
      const found = form.querySelector("input:checked");
      return found === null ? undefined : values[Number(found.value)];
    },
  };
}

function several(item, labels, values, chosen, text) {
  const box = (name, label, checked) => {
    const input = element("input", { type: "checkbox", name, autocomplete: "off", checked });
    return element("label", { class: "choice" }, input, label);
  };
  const held = Array.isArray(chosen) ? chosen : [];
  const boxes = labels.map((label, at) => box("answer", foreign("span", label), held.includes(values[at])));
  const inputs = boxes.map((choice) => choice.firstChild);
  const refuse = item.prefer_not ? box("refuse", element("span", {}, text("prefer_not")), chosen === null) : null;
  const refused = () => refuse !== null && refuse.firstChild.checked;
  // Whoever rather does not say has chosen nothing, and the other way round.
  for (const input of inputs) {
    input.addEventListener("change", () => refuse && input.checked && (refuse.firstChild.checked = false));
  }
  refuse?.addEventListener("change", () => {
    if (refused()) for (const input of inputs) input.checked = false;
  });
  return {
    hint: text("several_hint"),
    parts: refuse ? [...boxes, refuse] : boxes,
    read: () => (refused() ? null : values.filter((_, at) => inputs[at].checked)),
  };
}

function numberField(item, chosen, text, language) {
  const isWhole = item.kind === "scale";
  const [low, high] = [item.low, item.high].map((end) => end.toLocaleString(language));
  const input = numberInput(item.low, chosen, language);
  const parts = [
    element("label", { for: "number" }, text(isWhole ? "whole_number" : "number", { low, high })),
    input,
  ];
  const refuse = element("input", {
    type: "checkbox", name: "refuse", autocomplete: "off", checked: chosen === null,
  });
  if (item.prefer_not) {
    parts.push(element("label", { class: "choice" }, refuse, element("span", {}, text("prefer_not"))));
    refuse.addEventListener("change", () => refuse.checked && (input.value = ""));
    input.addEventListener("input", () => (refuse.checked = false));
  }
  const fits = (number) =>
    number >= item.low && number <= item.high && (!isWhole || Number.isInteger(number));
  return {
    parts: [element("div", { class: "field" }, ...parts)],
    problem: text(isWhole ? "whole_number" : "number", { low, high }),
    read: () => {
      if (item.prefer_not && refuse.checked) return null;
      const number = numberTyped(input.value, language);
      return fits(number) ? number : undefined;
    },
  };
}

function asked(item, chosen, { text, language, languages, shown }) {
  if (item.kind === "number") return numberField(item, chosen, text, language);
  const steps = item.high - item.low + 1;
  if (item.kind === "scale" && steps > MOST_STEPS) return numberField(item, chosen, text, language);
  let [labels, values] = [[text("no"), text("yes")], ["no", "yes"]];
  if (item.labels) [labels, values] = [labelsOf(item, shown), labelsOf(item, languages[0])];
  if (item.kind === "several") return several(item, labels, values, chosen, text);
  if (item.kind === "scale") {
    values = Array.from({ length: steps }, (_, at) => item.low + at);
    labels = values.map((value) => value.toLocaleString(language));
  }
  const made = radios(
    item.prefer_not ? [...labels, text("prefer_not")] : labels,
    item.prefer_not ? [...values, null] : values,
    chosen,
  );
  if (item.kind !== "scale") return made;
  const row = element("div", { class: "steps" }, ...made.parts.slice(0, steps));
  return { ...made, parts: [row, ...made.parts.slice(steps)] };
}

/**
 * The form of one item; `chosen`: what was answered before; `words`: `text` by key and gaps, the
 * page's `language`, the survey's `languages` and which of them is `shown`; `onNext` is given the answer.
 */
export function itemForm(item, chosen, words, onNext, ...buttons) {
  const { text } = words;
  const { parts, read, hint, problem: wrong } = asked(item, chosen, words);
  const problem = paragraph("", { class: "wrong", id: "problem", role: "alert" });
  const legend = element("legend", {}, hint ?? text("answers"));
  const group = element("fieldset", {}, legend, ...parts);
  const next = element("button", { class: "first" }, text("next"));
  const form = element("form", { autocomplete: "off", noValidate: true }, group, problem, acts(next, ...buttons));
  form.begun = () => read(form); // undefined where nothing was answered yet
  form.addEventListener("input", () => {
    problem.textContent = "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = read(form);
    if (answer === undefined) {
      problem.textContent = wrong ?? text("choose");
      form.querySelector("input").focus();
      return;
    }
    form.reset();
    onNext(answer);
  });
  return form;
}
