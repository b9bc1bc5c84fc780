// The form in which a person answers. What is chosen lives in it until "Send" is pressed.

import { acts, badge, choices, element, numberInput, numberTyped, paragraph } from "./elements.js";

function numberField(campaign, text, language, chosen) {
  const [low, high] = campaign.number.map((end) => end.toLocaleString(language));
  const input = numberInput(campaign.number[0], chosen, language);
  const label = element("label", { for: "number" }, text("number", { low, high }));
  return element("div", { class: "field" }, label, input);
}

function attributeField(name, values, at, chosen) {
  const field = element(
    "div",
    { class: "field" },
    element("label", { for: `about-${at}`, dir: "auto" }, name),
    element(
      "select",
      { id: `about-${at}`, autocomplete: "off" },
      element("option", { value: "" }, "—"),
      ...values.map((value, number) => element("option", { value: String(number) }, value)),
    ),
  );
  field.lastChild.value = chosen;
  return field;
}

/** The answer that is chosen: a place among the labels, or a number; null where none is. */
function answerIn(form, { number }, language) {
  if (number === null) {
    const chosen = form.querySelector("input:checked");
    return chosen && Number(chosen.value);
  }
  const given = numberTyped(form.querySelector("#number").value, language);
  return given >= number[0] && given <= number[1] ? given : null;
}

/**
 * The form. `send` is given the answer, the public attributes and all that was chosen, when the form
 * is empty again; `begun`: what was chosen when it was shown before (`form.begun()`).
 */
export function questionForm(campaign, text, language, send, stop, begun = {}) {
  const named = Object.entries(campaign.covariates);
  const isNumber = campaign.number !== null;
  const fields = isNumber
    ? [numberField(campaign, text, language, begun.answer)]
    : choices("answer", campaign.labels, begun.answer);
  const problem = paragraph("", { class: "wrong", id: "problem", role: "alert" });
  const attributes = named.map(([name, values], at) => attributeField(name, values, at, begun.attributes?.[at] ?? ""));
  const form = element(
    "form",
    { autocomplete: "off", noValidate: true },
    badge(text, "changed"),
    element("fieldset", {}, element("legend", {}, text("answers")), ...fields),
    attributes.length
      ? element("fieldset", {}, element("legend", {}, text("about_you")), ...attributes)
      : "",
    problem,
    acts(element("button", { class: "first" }, text("send")), stop),
  );
  form.begun = () => ({
    answer: answerIn(form, campaign, language) ?? undefined,
    attributes: [...form.querySelectorAll("select")].map((select) => select.value),
  });
  form.addEventListener("input", () => {
    problem.textContent = "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = answerIn(form, campaign, language);
    const selects = [...form.querySelectorAll("select")];
    const missing =
      answer === null ? form.querySelector("input") : selects.find((select) => select.value === "");
    if (missing) {
      const [low, high] = (campaign.number ?? []).map((end) => end.toLocaleString(language));
      problem.textContent = isNumber && answer === null ? text("number", { low, high }) : text("choose");
      missing.focus();
      return;
    }
    if (navigator.onLine === false) {
      problem.textContent = text("offline"); // and what is chosen stays where it is
      return;
    }
    const covariates = Object.fromEntries(
      named.map(([name, values], at) => [name, values[selects[at].value]]),
    );
    const begun = form.begun();
    form.reset();
    send(answer, covariates, begun);
  });
  return form;
}
