// The way of one person through the questions of a survey: which comes next, which came before, how far
// it is. Answers are kept here, in memory, until they are taken to be sent.

import { isAsked } from "../src/open-answers.js";
import { askedQuestions } from "../src/survey.js";

export class Walk {
  #survey;
  #answers = new Map();
  #name;
  #leftOut;

  /** leftOut: the names of questions that are not for this person. */
  constructor(survey, leftOut = new Set()) {
    this.#survey = survey;
    this.#leftOut = leftOut;
    this.#name = this.#questions[0]?.name;
  }

  get #questions() {
    return this.#survey.questions.filter(({ name }) => !this.#leftOut.has(name));
  }

  /** Open answers so far; they alone decide what is asked. */
  get #open() {
    const open = this.#questions.filter(({ name, sensitive }) => !sensitive && this.#answers.has(name));
    const found = {};
    for (const question of open) {
      if (isAsked(this.#survey, question, found)) found[question.name] = this.#answers.get(question.name);
    }
    return found;
  }

  get #asked() {
    return askedQuestions(this.#survey, this.#open, this.#leftOut);
  }

  /** Whether a question is asked, or may be after answers that are still missing. */
  #mayBeAsked(question) {
    return Object.entries(question.only_if ?? {}).every(([name, wanted]) => {
      const other = this.#questions.find((one) => one.name === name);
      if (!this.#answers.has(name)) return this.#mayBeAsked(other);
      const only = { ...question, only_if: { [name]: wanted } };
      return isAsked(this.#survey, only, this.#open);
    });
  }

  /** The question that is asked now. */
  get question() {
    return this.#questions.find(({ name }) => name === this.#name);
  }

  /** What was answered to it before; undefined: nothing yet. */
  get chosen() {
    return this.#answers.get(this.#name);
  }

  /** Which question this is, and how many there are at most. */
  get progress() {
    const possible = this.#questions.filter((question) => this.#mayBeAsked(question));
    return { at: possible.findIndex(({ name }) => name === this.#name) + 1, of: possible.length };
  }

  /** Whether anything was answered. */
  get hasAnswers() {
    return this.#answers.size > 0;
  }

  /** Remember an answer that was begun, and stay. */
  keep(answer) {
    if (answer !== undefined) this.#answers.set(this.#name, answer);
  }

  /** Which step of the way this is, the first being 1. */
  get step() {
    return this.#asked.findIndex(({ name }) => name === this.#name) + 1;
  }

  /** Go to a step, not beyond the first question without an answer; false where all have one. */
  goTo(step) {
    const asked = this.#asked;
    const missing = asked.findIndex(({ name }) => !this.#answers.has(name));
    const last = missing < 0 ? asked.length : missing;
    const at = Math.min(step - 1, last);
    this.#name = asked[Math.min(at, asked.length - 1)].name;
    return at < asked.length;
  }

  /** Remember an answer and go on; false where there is no further question. */
  next(answer) {
    this.#answers.set(this.#name, answer);
    const asked = this.#asked;
    const next = asked[asked.findIndex(({ name }) => name === this.#name) + 1];
    if (next !== undefined) this.#name = next.name;
    return next !== undefined;
  }

  /** Go back; false where there is no question before. */
  back() {
    return this.step > 1 && this.goTo(this.step - 1);
  }

  /** The open questions with their answers, as they will be sent. */
  get open() {
    const open = this.#open;
    return this.#asked.filter(({ sensitive }) => !sensitive).map((question) => [question, open[question.name]]);
  }

  /** How many questions are asked whose answers are changed. */
  get sensitive() {
    return this.#asked.filter(({ sensitive }) => sensitive).length;
  }

  /** All answers to questions that are asked; none of them is here afterwards. */
  take() {
    const taken = Object.fromEntries(this.#asked.map(({ name }) => [name, this.#answers.get(name)]));
    this.forget();
    return taken;
  }

  forget() {
    this.#answers.clear();
    this.#name = this.#questions[0].name;
  }
}
