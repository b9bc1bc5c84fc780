// One question as a form. What is chosen lives in it, and is handed over when "Next" is
// pressed.

import { told } from "../src/questions.js";
import { acts, choices, element, foreign, numberInput, numberTyped, paragraph } from "./elements.js";

const MOST_STEPS = 11; // of a scale whose steps are shown side by side

/** A question's words in one language. */
const labelsOf = (question, language) => question.labels.map((label) => label[language]);

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

function several(question, labels, values, chosen, text) {
  const box = (name, label, checked) => {
    const input = element("input", { type: "checkbox", name, autocomplete: "off", checked });
    return element("label", { class: "choice" }, input, label);
  };
  const held = Array.isArray(chosen) ? chosen : [];
  const boxes = labels.map((label, at) => box("answer", foreign("span", label), held.includes(values[at])));
  const inputs = boxes.map((choice) => choice.firstChild);
  const refuse = question.prefer_not ? box("refuse", element("span", {}, text("prefer_not")), chosen === null) : null;
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

function numberField(question, chosen, text, language) {
  const isWhole = question.kind === "scale";
  const end = (number, key, isOpen) => {
    const shown = number.toLocaleString(language);
    return isOpen ? text(key, { number: shown }) : shown;
  };
  const low = end(question.low, "or_less", question.or_less);
  const high = end(question.high, "or_more", question.or_more);
  const input = numberInput(question.low, chosen, language);
  const parts = [
    element("label", { for: "number" }, text(isWhole ? "whole_number" : "number", { low, high })),
    input,
  ];
  const refuse = element("input", {
    type: "checkbox", name: "refuse", autocomplete: "off", checked: chosen === null,
  });
  if (question.prefer_not) {
    parts.push(element("label", { class: "choice" }, refuse, element("span", {}, text("prefer_not"))));
    refuse.addEventListener("change", () => refuse.checked && (input.value = ""));
    input.addEventListener("input", () => (refuse.checked = false));
  }
  const fits = (number) =>
    number >= question.low && number <= question.high && (!isWhole || Number.isInteger(number));
  return {
    parts: [element("div", { class: "field" }, ...parts)],
    problem: text(isWhole ? "whole_number" : "number", { low, high }),
    read: () => {
      if (question.prefer_not && refuse.checked) return null;
      const number = told(question, numberTyped(input.value, language));
      return fits(number) ? number : undefined;
    },
  };
}

function asked(question, chosen, { text, language, languages, shown }) {
  if (question.kind === "number") return numberField(question, chosen, text, language);
  const steps = question.high - question.low + 1;
  if (question.kind === "scale" && steps > MOST_STEPS) return numberField(question, chosen, text, language);
  let [labels, values] = [[text("no"), text("yes")], ["no", "yes"]];
  if (question.labels) [labels, values] = [labelsOf(question, shown), labelsOf(question, languages[0])];
  if (question.kind === "several") return several(question, labels, values, chosen, text);
  if (question.kind === "scale") {
    values = Array.from({ length: steps }, (_, at) => question.low + at);
    labels = values.map((value) => value.toLocaleString(language));
  }
  const made = radios(
    question.prefer_not ? [...labels, text("prefer_not")] : labels,
    question.prefer_not ? [...values, null] : values,
    chosen,
  );
  if (question.kind !== "scale") return made;
  const row = element("div", { class: "steps" }, ...made.parts.slice(0, steps));
  return { ...made, parts: [row, ...made.parts.slice(steps)] };
}

/**
 * The form of one question; `chosen`: what was answered before; `words`: `text` by key and gaps, the
 * page's `language`, the survey's `languages` and which of them is `shown`; `onNext` is given the answer.
 */
export function questionForm(question, chosen, words, onNext, ...buttons) {
  const { text } = words;
  const { parts, read, hint, problem: wrong } = asked(question, chosen, words);
  const problem = paragraph("", { class: "wrong", id: "problem", role: "alert" });
  const legend = element("legend", { id: "legend" }, hint ?? text("answers"));
  // The heading is the question: it names the group, and what may be chosen follows.
  const group = element("fieldset", { "aria-labelledby": hint ? "title legend" : "title" }, legend, ...parts);
  if (group.querySelector("input[type=radio]")) group.setAttribute("role", "radiogroup");
  const refused = group.querySelector("#number") ?? group;
  const next = element("button", { class: "first" }, text("next"));
  const form = element("form", { autocomplete: "off", noValidate: true }, group, problem, acts(next, ...buttons));
  form.begun = () => read(form); // undefined where nothing was answered yet
  form.addEventListener("input", () => {
    problem.textContent = "";
    refused.removeAttribute("aria-invalid");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = read(form);
    if (answer === undefined) {
      problem.textContent = wrong ?? text("choose");
      refused.setAttribute("aria-invalid", "true");
      form.querySelector("input").focus();
      return;
    }
    form.reset();
    onNext(answer);
  });
  return form;
}
