// One contributor to a survey: fetches it and checks it, gets the cards of all parts, perturbs once,
// sends all answers in one upload until the collector has it. True answers are used once, to make
// the reports, and kept nowhere.

import { splitLink } from "./campaign.js";
import {
  checkState, checkTotal, deviceOf, fetchNamed, holderOf, personOf, sendAgain, sendKept, settingsOf,
} from "./conversation.js";
import { canonicalJson } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { checkDealers } from "./hand.js";
import { COLLECTOR_ROLE, pseudonym } from "./identity.js";
import { reportFrom, secureWords, stepsOf, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";
import { checkOpenAnswers } from "./open-answers.js";
import { NO_YES, answersOf } from "./questionnaire.js";
import { insist, readReply, refused } from "./steps.js";
import { fetchHands } from "./survey-hands.js";
import { askedParts, readSurvey, surveyCost, surveyPath } from "./survey.js";

/** The value that an answer stands for, of one part; what was answered is not repeated. */
function valueOf({ item, label, campaign }, answer, words) {
  const refusal = () => new ArgumentError("answers", `the answer to ${item.name} is none of its item's`);
  const texts = (one) => Object.values(item.labels[one]);
  if (answer === null) {
    if (!item.prefer_not) throw refusal();
    return answersOf(item, Object.keys(item.text)).length - 1; // the last one, in every language
  }
  if (item.kind === "several") {
    const known = item.labels.flatMap((_, at) => texts(at));
    if (!Array.isArray(answer) || !answer.every((one) => known.includes(one))) throw refusal();
    return Number(texts(label).some((text) => answer.includes(text)));
  }
  if (item.kind === "number") {
    return roundedNumber([item.low, item.high], answer, words(1)[0], stepsOf(campaign.mechanism));
  }
  if (item.kind === "scale") {
    if (!Number.isInteger(answer) || answer < item.low || answer > item.high) throw refusal();
    return answer - item.low;
  }
  const place =
    item.kind === "yes-no"
      ? NO_YES.indexOf(answer)
      : item.labels.findIndex((_, at) => texts(at).includes(answer));
  if (place < 0) throw refusal();
  return place;
}

/** Open answers, and the parts that are asked; exactly these items must have an answer. */
function splitAnswers(survey, answers) {
  const { items } = survey.questionnaire;
  const open = checkOpenAnswers(
    survey.questionnaire,
    Object.fromEntries(
      items
        .filter(({ name, sensitive }) => !sensitive && Object.hasOwn(answers, name))
        .map(({ name }) => [name, answers[name]]),
    ),
  );
  const asked = askedParts(survey, open);
  const names = new Set([...Object.keys(open), ...asked.map(({ item }) => item.name)]);
  for (const name of names) {
    if (!Object.hasOwn(answers, name)) throw new ArgumentError("answers", `answers must have one to ${name}`);
  }
  if (Object.keys(answers).length !== names.size) {
    throw new ArgumentError("answers", "answers must be to items that are asked of this person");
  }
  return { open, asked };
}

/** All answers of a person as they are sent (index.d.ts). */
export async function uploadOf(survey, answers, { name, hands, words = secureWords }) {
  const { open, asked } = splitAnswers(survey, answers);
  const values = asked.map((part) => valueOf(part, answers[part.item.name], words));
  const held = typeof hands === "function" ? await hands() : hands;
  const reports = {};
  for (const [at, part] of asked.entries()) {
    const { mechanism } = part.campaign;
    const { card = null, serials } = held[part.name] ?? {};
    const report = reportFrom(mechanism, values[at], card, wordSource(words, wordsNeeded(mechanism)));
    reports[part.name] = { carded: card !== null, report };
    if (serials !== undefined) reports[part.name].serials = serials;
  }
  return { document: { pseudonym: name, open, reports }, asked };
}

export class SurveyContributor {
  #link;
  #own; // what was given, checked
  #survey = null;

  /** As of `Contributor`, and its methods; the link names a survey. */
  constructor(link, options) {
    splitLink(link, "surveys");
    this.#link = link;
    this.#own = settingsOf(options);
  }

  async survey() {
    if (this.#survey !== null) return this.#survey;
    const named = splitLink(this.#link, "surveys");
    const survey = await fetchNamed(this.#own.net, named, surveyPath(named.name), readSurvey);
    const { epsilon, view } = surveyCost(survey);
    if (epsilon > this.#own.limit) {
      throw new ProtocolError("cost", `all answers cost ε = ${epsilon} (view: ${view}): too much`);
    }
    this.#survey = survey;
    return survey;
  }

  async status() {
    await this.survey();
    const reply = await insist(this.#own.net, `${this.#address()}/status`);
    if (reply.status !== 200) throw refused("the collector", reply);
    return readReply(reply);
  }

  async checkReady() {
    const survey = await this.survey();
    this.#checkTotal(surveyCost(survey).epsilon, await this.#person(), await this.#own.ledger.entries());
    await this.checkOpen();
    await checkDealers(survey, this.#own.net);
  }

  async checkOpen() {
    checkState((await this.status()).state);
  }

  spent() {
    return this.#own.ledger.spent();
  }

  #address() {
    return this.#survey.collector + surveyPath(this.#survey.hash);
  }

  #checkTotal(epsilon, person, before) {
    const { hash } = this.#survey;
    const again = before.some((entry) => entry.campaign === hash && entry.person === person);
    checkTotal(this.#own, before, epsilon, again ? 0 : 1);
  }

  async #secret() {
    const survey = await this.survey();
    return holderOf(this.#own, survey, survey.panel ?? survey.hash); // the same in every wave
  }

  async #person() {
    return personOf(await this.#secret(), this.#survey.hash);
  }

  /** The name at the collector: in all waves of a panel the same. */
  async #name() {
    const { panel, hash } = await this.survey();
    return pseudonym(await this.#secret(), panel ?? hash, COLLECTOR_ROLE);
  }

  async #device() {
    return deviceOf(this.#own, this.#survey.hash, await this.#name());
  }

  /** The upload that was made before on this device: `body` and whether it was `sent`; or null. */
  async before() {
    return this.#own.outbox.find((await this.survey()).hash, await this.#name());
  }

  async resume() {
    return sendAgain(await this.before(), (body) => this.#send(body));
  }

  /** Answer once; an upload that was made before is sent again instead of a new one. */
  async answer(answers) {
    const survey = await this.survey();
    const waiting = await this.resume();
    if (waiting !== null) return waiting;
    const secrets = { secret: await this.#secret(), device: await this.#device() };
    const name = await this.#name();
    const hands = () => fetchHands(survey, this.#own.net, secrets);
    const { document, asked } = await uploadOf(survey, answers, { name, hands, words: this.#own.words });
    // First the ledger: what is in it and was never sent was only counted for nothing.
    const person = await this.#person();
    const spent = surveyCost(survey, asked);
    const entry = { campaign: survey.hash, person, ...spent };
    await this.#own.ledger.enter(entry, (before) => this.#checkTotal(spent.epsilon, person, before));
    // Another tab may have been faster: there is only one upload of a person.
    const kept = await this.#own.outbox.keep(survey.hash, name, canonicalJson(document, { fractions: true }));
    return this.#send(kept.body);
  }

  async #send(body) {
    const address = `${this.#address()}/reports`;
    return sendKept(this.#own, address, this.#survey.hash, await this.#name(), body);
  }
}
