// From what somebody answered to what is sent: open answers, and a perturbed report of each other one.

import { forPeople } from "./dealing.js";
import { ArgumentError } from "./errors.js";
import { reportFrom, secureWords, stepsOf, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";
import { checkOpenAnswers } from "./open-answers.js";
import { NO_YES, answersOf, told } from "./questions.js";
import { askedAnswers } from "./survey.js";
import { counted, jointReports, notAsked } from "./together.js";

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
    return roundedNumber([question.low, question.high], told(question, answer), words(1)[0], stepsOf(mechanism));
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
function splitAnswers(survey, answers, leftOut) {
  const openOnes = survey.questions.filter(({ name, sensitive }) => !sensitive && Object.hasOwn(answers, name));
  const open = checkOpenAnswers(survey, Object.fromEntries(openOnes.map(({ name }) => [name, answers[name]])));
  const asked = askedAnswers(survey, open, leftOut);
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
  const { open, asked } = splitAnswers(survey, answers, await notAsked(survey, name));
  const values = asked.map((answer) => valueOf(answer, answers[answer.question.name], words));
  const dealt = typeof cards === "function" ? await cards() : cards;
  const reports = {};
  for (const whole of counted(asked)) {
    const places = [...asked.keys()].filter((at) => (asked[at].joint ?? asked[at]) === whole);
    const own = places.map((at) => asked[at]);
    const mechanisms = own.map((answer) => forPeople(survey, answer, dealt.n, "the collector"));
    const hands = own.map(({ name: one }) => dealt.cards[one] ?? { card: null });
    // Answers that share a coin have all their cards, or none.
    const cards = hands.some(({ card = null }) => card === null) ? null : hands.map(({ card }) => card);
    const trueValues = places.map((at) => values[at]);
    const made = whole.keep === undefined
      ? [reportFrom(mechanisms[0], trueValues[0], cards?.[0] ?? null, wordSource(words, wordsNeeded(mechanisms[0])))]
      : jointReports(whole, mechanisms, trueValues, cards, words);
    for (const [at, report] of made.entries()) {
      reports[own[at].name] = { carded: cards !== null, report };
      const { serials, prove } = hands[at];
      if (cards !== null && serials !== undefined) reports[own[at].name].serials = serials;
      if (cards !== null && prove !== undefined) Object.assign(reports[own[at].name], prove(name, [report].flat()));
    }
  }
  return { document: { pseudonym: name, open, reports }, asked };
}
