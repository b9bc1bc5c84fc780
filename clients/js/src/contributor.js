// One contributor: fetches a campaign and checks it, gets a card, perturbs once, sends until the
// collector has the report. The true answer is used once, to make the report, and kept nowhere.

import { campaignPath, cost, readCampaign, splitLink } from "./campaign.js";
import {
  checkState, checkTotal, deviceOf, fetchNamed, holderOf, personOf, sendAgain, sendKept, settingsOf,
} from "./conversation.js";
import { canonicalJson } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { announcedMechanism, checkDealers, collectorStatus, fetchHand, takeSeats } from "./hand.js";
import { COLLECTOR_ROLE, pseudonym } from "./identity.js";
import { reportFrom, stepsOf, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";

/** Exactly the public attributes that the campaign declares, each with a declared value. */
function checkCovariates(campaign, covariates) {
  const declared = Object.keys(campaign.covariates);
  const given = Object.keys(covariates);
  const fits =
    given.length === declared.length &&
    declared.every((name) => campaign.covariates[name].includes(covariates[name]));
  if (!fits) throw new ArgumentError("covariates", "covariates must be those of the campaign");
}

export class Contributor {
  #link;
  #own; // what was given, checked
  #campaign = null;

  /** What the options are: index.d.ts. */
  constructor(link, options) {
    splitLink(link);
    this.#link = link;
    this.#own = settingsOf(options);
  }

  /** What is asked and promised: fetched from the collector once, and checked. */
  async campaign() {
    if (this.#campaign !== null) return this.#campaign;
    const named = splitLink(this.#link);
    const campaign = await fetchNamed(this.#own.net, named, campaignPath(named.name), readCampaign);
    const { epsilon, view } = cost(campaign);
    if (epsilon > this.#own.limit) {
      throw new ProtocolError("cost", `an answer costs ε = ${epsilon} (view: ${view}): too much`);
    }
    this.#campaign = campaign;
    return campaign;
  }

  /** What the collector tells everybody: `state`, and `n` where cards were dealt to who enrolled. */
  async status() {
    return collectorStatus(await this.campaign(), this.#own.net);
  }

  /** Refuse, before anybody is asked for an answer, what could not be sent. */
  async checkReady() {
    const campaign = await this.campaign();
    const person = await this.#person();
    this.#checkTotal(person, await this.#own.ledger.entries());
    await this.checkOpen();
    if (campaign.enrols) await announcedMechanism(campaign, this.#own.net);
    await checkDealers(campaign, this.#own.net);
  }

  /** Refuse where the collector takes no answers now. */
  async checkOpen() {
    const { enrols } = await this.campaign();
    checkState((await this.status()).state, enrols);
  }

  /** Take a place in the next deal, where the campaign enrols first (`campaign.enrols`). */
  async enrol() {
    const campaign = await this.campaign();
    if (!campaign.enrols) throw new ProtocolError("enrol", "the campaign deals on arrival");
    const person = await this.#person();
    this.#checkTotal(person, await this.#own.ledger.entries());
    const secret = await this.#secret();
    await takeSeats(campaign, this.#own.net, { secret, device: await this.#device() });
    await this.#own.outbox.noteSeat(campaign.hash, person);
  }

  /** Whether this person has taken a place from this device. */
  async enrolled() {
    return this.#own.outbox.hasSeat((await this.campaign()).hash, await this.#person());
  }

  /** What all answers on this device have cost: how many there were, and their ε together. */
  spent() {
    return this.#own.ledger.spent();
  }

  #checkTotal(person, before) {
    const { hash } = this.#campaign;
    const answered = before.some((entry) => entry.campaign === hash && entry.person === person);
    checkTotal(this.#own, before, cost(this.#campaign).epsilon, answered ? 0 : 1);
  }

  async #secret() {
    const campaign = await this.campaign();
    return holderOf(this.#own, campaign, campaign.hash);
  }

  async #person() {
    return personOf(await this.#secret(), (await this.campaign()).hash);
  }

  async #device() {
    return deviceOf(this.#own, (await this.campaign()).hash, await this.#name(0));
  }

  /** The value 0..k-1 of an answer; a number between two ends is rounded by chance to one. */
  #valueOf({ number, mechanism }, answer) {
    if (number !== null) return roundedNumber(number, answer, this.#own.words(1)[0], stepsOf(mechanism));
    if (!Number.isInteger(answer) || answer < 0 || answer >= mechanism.k) {
      throw new ArgumentError("answer", `answer must be in 0..${mechanism.k - 1}`);
    }
    return answer;
  }

  async #name() {
    return pseudonym(await this.#secret(), (await this.campaign()).hash, COLLECTOR_ROLE);
  }

  /** The report that was made before on this device: `body` and whether it was `sent`; or null. */
  async before() {
    return this.#own.outbox.find((await this.campaign()).hash, await this.#name());
  }

  /** Send a report that was kept and perhaps not received; null where there is none. */
  async resume() {
    return sendAgain(await this.before(), (body) => this.#send(body));
  }

  /** Answer once; a report that was made before is sent again instead of a new one. */
  async answer(answer, { covariates = {} } = {}) {
    const campaign = await this.campaign();
    const waiting = await this.resume();
    if (waiting !== null) return waiting;
    checkCovariates(campaign, covariates);
    const value = this.#valueOf(campaign, answer);
    const secret = await this.#secret();
    const name = await this.#name();
    const hand = await fetchHand(campaign, this.#own.net, { secret, device: await this.#device() });
    const { mechanism, card } = hand;
    const words = wordSource(this.#own.words, wordsNeeded(mechanism));
    const report = reportFrom(mechanism, value, card, words);
    const document = { pseudonym: name, carded: card !== null, report, covariates };
    if (hand.serials !== undefined) document.serials = hand.serials;
    // First the ledger: what is in it and was never sent was only counted for nothing.
    const person = await this.#person();
    const entry = { campaign: campaign.hash, person, ...cost(campaign) };
    await this.#own.ledger.enter(entry, (before) => this.#checkTotal(person, before));
    // Another tab may have been faster: there is only one report of an answer.
    const kept = await this.#own.outbox.keep(campaign.hash, name, canonicalJson(document));
    return this.#send(kept.body);
  }

  async #send(body) {
    const campaign = await this.campaign();
    const address = `${campaign.collector}${campaignPath(campaign.hash)}/reports`;
    return sendKept(this.#own, address, campaign.hash, await this.#name(), body);
  }
}
