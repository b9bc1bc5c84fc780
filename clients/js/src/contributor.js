// One contributor: fetches a campaign and checks it, gets a card, perturbs once, sends until the
// collector has the report. The true answer is used once, to make the report, and kept nowhere.

import { campaignPath, cost, hashOf, readCampaign, splitLink } from "./campaign.js";
import { canonicalJson, fromHex, toHex } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { fetchHand } from "./hand.js";
import { collectorRole, invitationSecret, newSecret, pseudonym } from "./identity.js";
import { reportFromWords, secureWords, wordsNeeded } from "./mechanisms.js";
import { Outbox } from "./outbox.js";
import { gaveUp, insist, readReply, refused, unreachable } from "./steps.js";

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
  #invitation;
  #outbox;
  #words;
  #net;
  #campaign = null;

  /**
   * @param {string} link Which names the campaign.
   * @param options
   * @param {number} options.limit The most ε that an answer may cost.
   * @param options.storage Where finished reports and the device's secrets are kept.
   * @param {string} [options.invitation] Of a campaign that needs one.
   * @param {number} [options.patience] Seconds to wait for a card, and for the collector.
   */
  constructor(link, { limit, storage, invitation, patience = 30, fetch, words = secureWords }) {
    splitLink(link);
    if (!(limit > 0)) throw new ArgumentError("limit", "limit must be an ε above 0");
    if (!storage) throw new ArgumentError("storage", "storage must be given");
    this.#link = link;
    this.#limit = limit;
    this.#invitation = invitation === undefined ? null : invitationSecret(invitation);
    this.#outbox = new Outbox(storage);
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
    if (epsilon > this.#limit) {
      throw new ProtocolError("cost", `an answer costs ε = ${epsilon} (view: ${view}): too much`);
    }
    this.#campaign = campaign;
    return campaign;
  }

  /** Refuse, before anybody is asked for an answer, what could not be sent. */
  async checkReady() {
    const campaign = await this.campaign();
    await this.#secret();
    const address = `${campaign.collector}${campaignPath(campaign.hash)}/status`;
    const reply = await insist(this.#net, address);
    if (reply.status !== 200) throw refused("the collector", reply);
    const { state } = readReply(reply);
    if (state === "closed") throw new ProtocolError("closed", "the campaign is closed");
    if (state !== "open") throw new ProtocolError("too-early", "the campaign is not open yet");
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
   * @param {number} value The number of the answer, 0..k-1.
   * @param [options] `covariates`, exactly those of the campaign; `round`.
   * @returns The receipt: `body`, exactly what was sent; `before`, whether it was there already.
   * @throws {UnreachableError} The collector does not answer; the report is kept for another try.
   */
  async answer(value, { covariates = {}, round = 0 } = {}) {
    const campaign = await this.campaign();
    const waiting = await this.resume(round);
    if (waiting !== null) return waiting;
    if (!Number.isInteger(value) || value < 0 || value >= campaign.mechanism.k) {
      throw new ArgumentError("answer", `answer must be in 0..${campaign.mechanism.k - 1}`);
    }
    if (!Number.isInteger(round) || round < 0 || round >= campaign.rounds) {
      throw new ArgumentError("round", `round must be in 0..${campaign.rounds - 1}`);
    }
    checkCovariates(campaign, covariates);
    const secret = await this.#secret();
    // Of this person on this device: others may use it too.
    const name = await this.#name(round);
    const purpose = `device:${campaign.hash}:${await this.#name(0)}`;
    const device = fromHex(await this.#outbox.secret(purpose, toHex(newSecret(32))));
    const hand = await fetchHand(campaign, this.#net, { secret, device, round });
    const words = this.#words(wordsNeeded(campaign.mechanism));
    const report = reportFromWords(campaign.mechanism, value, hand.card, words);
    const document = { pseudonym: name, round, carded: hand.card !== null, report, covariates };
    if (hand.serials !== undefined) document.serials = hand.serials;
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
