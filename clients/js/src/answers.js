// From what somebody answered to what is sent: open answers, and a perturbed report of each other one.

import { forPeople } from "./dealing.js";
import { ArgumentError } from "./errors.js";
import { reportFrom, secureWords, stepsOf, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";
import { checkOpenAnswers } from "./open-answers.js";
import { NO_YES, answersOf } from "./questions.js";
import { askedAnswers } from "./survey.js";

/** The value that an answer stands for; what was answered is not repeated. */
function valueOf({ question, label, mechanism }, answer, words) {
  const refusal = () => new ArgumentError("answers", `the answer to ${question.name} is none of its question's`);
  const texts = (one) => Object.values(question.labels[one]);
  if (answer === null) {
    if (!question.prefer_not) throw refusal();
    return answersOf(question, Object.keys(question.text)).length - 1; // the last one, in every language
  }
  if (question.kind === "several") {
    const known = question.labels.flatMap((_, at) => texts(at));
    if (!Array.isArray(answer) || !answer.every((one) => known.includes(one))) throw refusal();
    return Number(texts(label).some((text) => answer.includes(text)));
  }
  if (question.kind === "number") {
    return roundedNumber([question.low, question.high], answer, words(1)[0], stepsOf(mechanism));
  }
  if (question.kind === "scale") {
    if (!Number.isInteger(answer) || answer < question.low || answer > question.high) throw refusal();
    return answer - question.low;
  }
  const place =
    question.kind === "yes-no"
      ? NO_YES.indexOf(answer)
      : question.labels.findIndex((_, at) => texts(at).includes(answer));
  if (place < 0) throw refusal();
  return place;
}

/** Open answers, and the perturbed answers that are asked for; exactly these must have an answer. */
function splitAnswers(survey, answers) {
  const openOnes = survey.questions.filter(({ name, sensitive }) => !sensitive && Object.hasOwn(answers, name));
  const open = checkOpenAnswers(survey, Object.fromEntries(openOnes.map(({ name }) => [name, answers[name]])));
  const asked = askedAnswers(survey, open);
  const names = new Set([...Object.keys(open), ...asked.map(({ question }) => question.name)]);
  for (const name of names) {
    if (!Object.hasOwn(answers, name)) throw new ArgumentError("answers", `answers must have one to ${name}`);
  }
  if (Object.keys(answers).length !== names.size) {
    throw new ArgumentError("answers", "answers must be to questions that are asked of this person");
  }
  return { open, asked };
}

/** All answers of a person as they are sent (index.d.ts). */
export async function uploadOf(survey, answers, { name, cards, words = secureWords }) {
  const { open, asked } = splitAnswers(survey, answers);
  const values = asked.map((answer) => valueOf(answer, answers[answer.question.name], words));
  const dealt = typeof cards === "function" ? await cards() : cards;
  const reports = {};
  for (const [at, answer] of asked.entries()) {
    const mechanism = forPeople(survey, answer, dealt.n, "the collector");
    const { card = null, serials } = dealt.cards[answer.name] ?? {};
    const report = reportFrom(mechanism, values[at], card, wordSource(words, wordsNeeded(mechanism)));
    reports[answer.name] = { carded: card !== null, report };
    if (serials !== undefined) reports[answer.name].serials = serials;
  }
  return { document: { pseudonym: name, open, reports }, asked };
}
