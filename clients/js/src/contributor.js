// One contributor: fetches a campaign and checks it, gets a card, perturbs once, sends until the
// collector has the report. The true answer is used once, to make the report, and kept nowhere.

import { campaignPath, cost, hashOf, readCampaign, splitLink } from "./campaign.js";
import { canonicalJson, fromHex, toHex } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { announcedMechanism, collectorStatus, fetchHand, takeSeats } from "./hand.js";
import { collectorRole, invitationSecret, newSecret, pseudonym } from "./identity.js";
import { Ledger, totalWith } from "./ledger.js";
import { reportFrom, secureWords, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";
import { Outbox } from "./outbox.js";
import { gaveUp, insist, refused, unreachable } from "./steps.js";

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
  #limit;
  #totalLimit;
  #invitation;
  #outbox;
  #ledger;
  #words;
  #net;
  #campaign = null;

  /**
   * @param {string} link Which names the campaign.
   * @param options
   * @param {number} options.limit The most ε that the campaign may cost, all its rounds together.
   * @param {number} [options.totalLimit] The most ε that it may cost together with all answers in
   *   this device's ledger; any, unless given.
   * @param options.storage Where finished reports and the device's secrets are kept.
   * @param {string} [options.invitation] Of a campaign that needs one.
   * @param {number} [options.patience] Seconds to wait for a card, and for the collector.
   */
  constructor(link, options) {
    const { limit, totalLimit = Infinity, storage, invitation, patience = 30, fetch } = options;
    const { words = secureWords } = options;
    splitLink(link);
    if (!(limit > 0)) throw new ArgumentError("limit", "limit must be an ε above 0");
    if (!(totalLimit > 0)) throw new ArgumentError("totalLimit", "totalLimit must be an ε above 0");
    if (!storage) throw new ArgumentError("storage", "storage must be given");
    this.#link = link;
    this.#limit = limit;
    this.#totalLimit = totalLimit;
    this.#invitation = invitation === undefined ? null : invitationSecret(invitation);
    this.#outbox = new Outbox(storage);
    this.#ledger = new Ledger(storage);
    this.#words = words;
    this.#net = { fetch: fetch ?? globalThis.fetch.bind(globalThis), patience };
  }

  /** What is asked and promised: fetched from the collector once, and checked. */
  async campaign() {
    if (this.#campaign !== null) return this.#campaign;
    const { collector, name } = splitLink(this.#link);
    const reply = await insist(this.#net, collector + campaignPath(name));
    if (reply.status !== 200) throw refused("the collector", reply);
    if ((await hashOf(reply.body)) !== name) {
      throw new ProtocolError("different", "the collector serves another campaign than the link");
    }
    const campaign = await readCampaign(reply.body);
    if (campaign.collector !== collector) {
      throw new ProtocolError("different", "the campaign names another collector");
    }
    const { epsilon, view } = cost(campaign);
    if (epsilon * campaign.rounds > this.#limit) {
      const times = campaign.rounds > 1 ? `, ${campaign.rounds} times` : "";
      throw new ProtocolError("cost", `an answer costs ε = ${epsilon}${times} (view: ${view}): too much`);
    }
    this.#campaign = campaign;
    return campaign;
  }

  /** What the collector tells everybody: `state`, and `n` where cards were dealt to who enrolled. */
  async status() {
    return collectorStatus(await this.campaign(), this.#net);
  }

  /** Refuse, before anybody is asked for an answer, what could not be sent. */
  async checkReady() {
    const campaign = await this.campaign();
    const person = await this.#person();
    this.#checkTotal(person, await this.#ledger.entries());
    const { state } = await this.status();
    if (state === "closed") throw new ProtocolError("closed", "the campaign is closed");
    if (campaign.enrols) await announcedMechanism(campaign, this.#net);
    else if (state !== "open") throw new ProtocolError("too-early", "the campaign is not open yet");
  }

  /**
   * Take a place in the next deal, where the campaign enrols first (`campaign.enrols`).
   *
   * @throws {ProtocolError} It does not, enrolment is over (`enrolled`), or a dealer refuses.
   */
  async enrol() {
    const campaign = await this.campaign();
    if (!campaign.enrols) throw new ProtocolError("enrol", "the campaign deals on arrival");
    const person = await this.#person();
    this.#checkTotal(person, await this.#ledger.entries());
    const secret = await this.#secret();
    await takeSeats(campaign, this.#net, { secret, device: await this.#device() });
    await this.#outbox.noteSeat(campaign.hash, person);
  }

  /** Whether this person has taken a place from this device. */
  async enrolled() {
    return this.#outbox.hasSeat((await this.campaign()).hash, await this.#person());
  }

  /** What all answers on this device have cost: how many there were, and their ε together. */
  spent() {
    return this.#ledger.spent();
  }

  #checkTotal(person, before) {
    const { hash, rounds } = this.#campaign;
    const answered = before.filter((entry) => entry.campaign === hash && entry.person === person);
    const total = totalWith(before, cost(this.#campaign).epsilon, rounds - answered.length);
    if (total > this.#totalLimit) {
      throw new ProtocolError("cost", `answers would cost ε = ${total} together: too much`);
    }
  }

  /** Whoever holds the invitation; of a public campaign, this device. */
  async #secret() {
    const campaign = await this.campaign();
    if (this.#invitation !== null) return this.#invitation;
    if (campaign.invitations) {
      throw new ArgumentError("invitation", "invitation must be given for this campaign");
    }
    const kept = await this.#outbox.secret(`public:${campaign.hash}`, toHex(newSecret()));
    return fromHex(kept, 20);
  }

  /** Whose answer it is, by a name that nobody else knows: several people may share a device. */
  async #person() {
    const name = await pseudonym(await this.#secret(), (await this.campaign()).hash, "state");
    return name.slice(0, 32);
  }

  /** A secret of this person on this device, so that nobody else can fetch its cards. */
  async #device() {
    const purpose = `device:${(await this.campaign()).hash}:${await this.#name(0)}`;
    return fromHex(await this.#outbox.secret(purpose, toHex(newSecret(32))));
  }

  /** The value 0..k-1 of an answer; a number between two ends is rounded by chance to one. */
  #valueOf({ number, mechanism }, answer) {
    if (number !== null) return roundedNumber(number, answer, this.#words(1)[0]);
    if (!Number.isInteger(answer) || answer < 0 || answer >= mechanism.k) {
      throw new ArgumentError("answer", `answer must be in 0..${mechanism.k - 1}`);
    }
    return answer;
  }

  async #name(round) {
    return pseudonym(await this.#secret(), (await this.campaign()).hash, collectorRole(round));
  }

  /** The report that was made before on this device: `body` and whether it was `sent`; or null. */
  async before(round = 0) {
    return this.#outbox.find((await this.campaign()).hash, await this.#name(round));
  }

  /** Send a report that was kept and perhaps not received; null where there is none. */
  async resume(round = 0) {
    const kept = await this.before(round);
    if (kept === null) return null;
    return kept.sent ? { body: kept.body, before: true } : this.#send(kept.body, round);
  }

  /**
   * Answer once; a report that was made before is sent again instead of a new one.
   *
   * @param {number} answer The place of the answer among the labels, 0..k-1; where the campaign
   *   asks for a number (`campaign.number`), that number.
   * @param [options] `covariates`, exactly those of the campaign; `round`.
   * @returns The receipt: `body`, exactly what was sent; `before`, whether it was there already.
   * @throws {UnreachableError} The collector does not answer; the report is kept for another try.
   */
  async answer(answer, { covariates = {}, round = 0 } = {}) {
    const campaign = await this.campaign();
    const waiting = await this.resume(round);
    if (waiting !== null) return waiting;
    if (!Number.isInteger(round) || round < 0 || round >= campaign.rounds) {
      throw new ArgumentError("round", `round must be in 0..${campaign.rounds - 1}`);
    }
    checkCovariates(campaign, covariates);
    const value = this.#valueOf(campaign, answer);
    const secret = await this.#secret();
    const name = await this.#name(round);
    const hand = await fetchHand(campaign, this.#net, { secret, device: await this.#device(), round });
    const { mechanism, card } = hand;
    const words = wordSource(this.#words, wordsNeeded(mechanism));
    const report = reportFrom(mechanism, value, card, words);
    const document = { pseudonym: name, round, carded: card !== null, report, covariates };
    if (hand.serials !== undefined) document.serials = hand.serials;
    // First the ledger: what is in it and was never sent was only counted for nothing.
    const person = await this.#person();
    const entry = { campaign: campaign.hash, person, round, ...cost(campaign) };
    await this.#ledger.enter(entry, (before) => this.#checkTotal(person, before));
    // Another tab may have been faster: there is only one report of an answer.
    const kept = await this.#outbox.keep(campaign.hash, name, canonicalJson(document));
    return this.#send(kept.body, round);
  }

  async #send(body, round) {
    const campaign = await this.campaign();
    const address = `${campaign.collector}${campaignPath(campaign.hash)}/reports`;
    const reply = await insist(this.#net, address, { body, silenceIsFine: true, also: [425] });
    if (gaveUp(reply)) throw unreachable(reply);
    if (reply.status !== 200 && reply.status !== 201) throw refused("the collector", reply);
    await this.#outbox.markSent(campaign.hash, await this.#name(round), body);
    return { body, before: reply.status === 200 };
  }
}
