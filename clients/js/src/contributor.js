// One contributor: fetches a survey and checks it, gets the cards of all questions, perturbs once,
// sends all answers in one upload until the collector has it. True answers are used once, to make
// the reports, and kept nowhere.

import { uploadOf } from "./answers.js";
import { splitLink, surveyPath } from "./checks.js";
import {
  checkState, checkTotal, deviceOf, fetchNamed, holderOf, personOf, sendAgain, sendKept,
  settingsOf,
} from "./conversation.js";
import { checkDealers, collectorStatus, fetchCards, peopleDealtTo, takeSeats } from "./dealing.js";
import { canonicalJson } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { COLLECTOR, pseudonym } from "./identity.js";
import { announces, deals } from "./mechanisms.js";
import { readSurvey, surveyCost } from "./survey.js";
import { notAsked } from "./together.js";

export class Contributor {
  #link;
  #own; // what was given, checked
  #survey = null;

  /** What the options are: index.d.ts. */
  constructor(link, options) {
    splitLink(link);
    this.#link = link;
    this.#own = settingsOf(options);
  }

  /** What is asked and promised: fetched from the collector once, and checked. */
  async survey() {
    if (this.#survey !== null) return this.#survey;
    const survey = await fetchNamed(this.#own.net, splitLink(this.#link), readSurvey);
    const { epsilon, view } = surveyCost(survey);
    if (epsilon > this.#own.limit) {
      throw new ProtocolError("cost", `all answers cost ε = ${epsilon} (view: ${view}): too much`);
    }
    this.#survey = survey;
    return survey;
  }

  /** What the collector tells everybody: `state`, `n` where cards were dealt to who enrolled, and `closes`. */
  async status() {
    return collectorStatus(await this.survey(), this.#own.net);
  }

  /** Refuse, before anybody is asked for an answer, what could not be sent. */
  async checkReady() {
    const survey = await this.survey();
    this.#checkTotal(surveyCost(survey).epsilon, await this.#person(), await this.#own.ledger.entries());
    await this.checkOpen();
    await peopleDealtTo(survey, this.#own.net);
    await checkDealers(survey, this.#own.net);
  }

  /**
   * Take this person's place before anything is asked: an invitation that was used on another device is
   * refused here. Only where a card that never comes back costs nothing, which is where sums of cards are
   * announced; the card itself is fetched again, the same one, when it is needed.
   */
  async takePlace() {
    const survey = await this.survey();
    const dealt = survey.sensitive.filter(({ mechanism }) => deals(mechanism));
    if (dealt.length === 0 || !dealt.every(({ mechanism }) => announces(mechanism))) return;
    const soon = { ...this.#own.net, patience: Math.min(this.#own.net.patience, 2) };
    await fetchCards(survey, soon, { secret: await this.#secret(), device: await this.#device() });
  }

  /** Refuse where the collector takes no answers now. */
  async checkOpen() {
    const { dealing } = await this.survey();
    checkState((await this.status()).state, dealing.enrols);
  }

  /** The names of sensitive questions that are not for this person: others are asked these. */
  async notAsked() {
    return notAsked(await this.survey(), await this.#name());
  }

  /** Take a place in the next deal, where people enrol first (`survey.dealing.enrols`). */
  async enrol() {
    const survey = await this.survey();
    if (!survey.dealing.enrols) throw new ProtocolError("enrol", "the survey deals on arrival");
    const person = await this.#person();
    this.#checkTotal(surveyCost(survey).epsilon, person, await this.#own.ledger.entries());
    const secrets = { secret: await this.#secret(), device: await this.#device() };
    await takeSeats(survey, this.#own.net, secrets);
    await this.#own.outbox.noteSeat(survey.hash, person);
  }

  /** Whether this person has taken a place from this device. */
  async enrolled() {
    return this.#own.outbox.hasSeat((await this.survey()).hash, await this.#person());
  }

  /** What all answers on this device have cost: how many uploads there were, and their ε together. */
  spent() {
    return this.#own.ledger.spent();
  }

  #address() {
    return this.#survey.collector + surveyPath(this.#survey.hash);
  }

  #checkTotal(epsilon, person, before) {
    const { hash } = this.#survey;
    const again = before.some((entry) => entry.survey === hash && entry.person === person);
    checkTotal(this.#own, before, epsilon, again ? 0 : 1);
  }

  async #secret() {
    const survey = await this.survey();
    return holderOf(this.#own, survey, survey.panel ?? survey.hash); // the same in every wave
  }

  async #person() {
    return personOf(await this.#secret(), this.#survey.hash);
  }

  /** Under what name uploads are kept here: where anybody may answer, the secret is forgotten later. */
  async #kept() {
    return this.#own.invitation === null ? "anybody" : this.#person();
  }

  /** The name at the collector: in all waves of a panel the same. */
  async #name() {
    const { panel, hash } = await this.survey();
    return pseudonym(await this.#secret(), panel ?? hash, COLLECTOR);
  }

  async #device() {
    return deviceOf(this.#own, this.#survey.hash, await this.#person());
  }

  /** The upload that was made before on this device: `body`, or that it was `sent`; or null. */
  async before() {
    const { hash } = await this.survey();
    return this.#own.outbox.find(hash, await this.#kept());
  }

  /** Send what was kept and perhaps not received; null where there is nothing. */
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
    const cards = () => fetchCards(survey, this.#own.net, secrets);
    const { document, asked } = await uploadOf(survey, answers, { name, cards, words: this.#own.words });
    // First the ledger: what is in it and was never sent was only counted for nothing.
    const person = await this.#person();
    const spent = surveyCost(survey, asked);
    const entry = { survey: survey.hash, person, ...spent };
    await this.#own.ledger.enter(entry, (before) => this.#checkTotal(spent.epsilon, person, before));
    // Another tab may have been faster: there is only one upload of a person.
    const body = canonicalJson(document, { fractions: true });
    const kept = await this.#own.outbox.keep(survey.hash, await this.#kept(), body);
    return sendAgain(kept, (waiting) => this.#send(waiting));
  }

  async #send(body) {
    const address = `${this.#address()}/reports`;
    const own = { kept: await this.#kept(), person: await this.#person(), body };
    return sendKept(this.#own, address, this.#survey, own);
  }
}
