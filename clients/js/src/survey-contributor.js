// One contributor to a survey: fetches it and checks it, gets the cards of all parts, perturbs once,
// sends all answers in one upload until the collector has it. True answers are used once, to make
// the reports, and kept nowhere.

import { hashOf, splitLink } from "./campaign.js";
import { canonicalJson, fromHex, toHex } from "./documents.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import { collectorRole, invitationSecret, newSecret, pseudonym } from "./identity.js";
import { Ledger, totalWith } from "./ledger.js";
import { reportFrom, secureWords, stepsOf, wordSource, wordsNeeded } from "./mechanisms.js";
import { roundedNumber } from "./numbers.js";
import { checkOpenAnswers } from "./open-answers.js";
import { Outbox } from "./outbox.js";
import { NO_YES, answersOf } from "./questionnaire.js";
import { gaveUp, insist, readReply, refused, unreachable } from "./steps.js";
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

/**
 * All answers of a person as they are sent.
 *
 * @param survey Which asks.
 * @param answers Item -> a label, a number, a list of labels; null for "prefer not to say".
 * @param options `name`: the pseudonym at the collector; `hands`: by the names of the parts, or a
 *   function that fetches them once the answers are found good; `words`: random ones of 64 bits.
 * @returns {Promise<{document: object, asked: object[]}>}
 */
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
  #limit;
  #totalLimit;
  #invitation;
  #outbox;
  #ledger;
  #words;
  #net;
  #survey = null;

  /** As of `Contributor`; the link names a survey. */
  constructor(link, options) {
    const { limit, totalLimit = Infinity, storage, invitation, patience = 30, fetch } = options;
    const { words = secureWords } = options;
    splitLink(link, "surveys");
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
  async survey() {
    if (this.#survey !== null) return this.#survey;
    const { collector, name } = splitLink(this.#link, "surveys");
    const reply = await insist(this.#net, collector + surveyPath(name));
    if (reply.status !== 200) throw refused("the collector", reply);
    if ((await hashOf(reply.body)) !== name) {
      throw new ProtocolError("different", "the collector serves another survey than the link");
    }
    const survey = await readSurvey(reply.body);
    if (survey.collector !== collector) {
      throw new ProtocolError("different", "the survey names another collector");
    }
    const { epsilon, view } = surveyCost(survey);
    if (epsilon > this.#limit) {
      throw new ProtocolError("cost", `all answers cost ε = ${epsilon} (view: ${view}): too much`);
    }
    this.#survey = survey;
    return survey;
  }

  /** Refuse, before anybody is asked for an answer, what could not be sent. */
  async checkReady() {
    const survey = await this.survey();
    this.#checkTotal(surveyCost(survey).epsilon, await this.#person(), await this.#ledger.entries());
    const reply = await insist(this.#net, `${this.#address()}/status`);
    if (reply.status !== 200) throw refused("the collector", reply);
    const { state } = readReply(reply);
    if (state === "closed") throw new ProtocolError("closed", "the survey is closed");
    if (state !== "open") throw new ProtocolError("too-early", "the survey is not open yet");
  }

  /** What all answers on this device have cost: how many uploads there were, and their ε together. */
  spent() {
    return this.#ledger.spent();
  }

  #address() {
    return this.#survey.collector + surveyPath(this.#survey.hash);
  }

  #checkTotal(epsilon, person, before) {
    const { hash } = this.#survey;
    const again = before.some((entry) => entry.campaign === hash && entry.person === person);
    const total = totalWith(before, epsilon, again ? 0 : 1);
    if (total > this.#totalLimit) {
      throw new ProtocolError("cost", `answers would cost ε = ${total} together: too much`);
    }
  }

  /** Whoever holds the invitation; of a public survey, this device. */
  async #secret() {
    const survey = await this.survey();
    if (this.#invitation !== null) return this.#invitation;
    if (survey.invitations) {
      throw new ArgumentError("invitation", "invitation must be given for this survey");
    }
    const salt = survey.panel ?? survey.hash; // the same person in every wave
    return fromHex(await this.#outbox.secret(`public:${salt}`, toHex(newSecret())), 20);
  }

  /** Whose answers they are, by a name that nobody else knows: several people may share a device. */
  async #person() {
    const name = await pseudonym(await this.#secret(), (await this.survey()).hash, "state");
    return name.slice(0, 32);
  }

  /** The name at the collector: in all waves of a panel the same. */
  async #name() {
    const { panel, hash } = await this.survey();
    return pseudonym(await this.#secret(), panel ?? hash, collectorRole(0));
  }

  /** A secret of this person on this device, so that nobody else can fetch its cards. */
  async #device() {
    const purpose = `device:${this.#survey.hash}:${await this.#name()}`;
    return fromHex(await this.#outbox.secret(purpose, toHex(newSecret(32))));
  }

  /** The upload that was made before on this device: `body` and whether it was `sent`; or null. */
  async before() {
    return this.#outbox.find((await this.survey()).hash, await this.#name());
  }

  /** Send an upload that was kept and perhaps not received; null where there is none. */
  async resume() {
    const kept = await this.before();
    if (kept === null) return null;
    return kept.sent ? { body: kept.body, before: true } : this.#send(kept.body);
  }

  /**
   * Answer once; an upload that was made before is sent again instead of a new one.
   *
   * @param answers Of exactly the items that are asked: item -> a label (open items: in the first
   *   language), a number, a list of labels of "several"; null for "prefer not to say".
   * @returns The receipt: `body`, exactly what was sent; `before`, whether it was there already.
   * @throws {UnreachableError} The collector does not answer; the upload is kept for another try.
   */
  async answer(answers) {
    const survey = await this.survey();
    const waiting = await this.resume();
    if (waiting !== null) return waiting;
    const secrets = { secret: await this.#secret(), device: await this.#device() };
    const name = await this.#name();
    const hands = () => fetchHands(survey, this.#net, secrets);
    const { document, asked } = await uploadOf(survey, answers, { name, hands, words: this.#words });
    // First the ledger: what is in it and was never sent was only counted for nothing.
    const person = await this.#person();
    const spent = surveyCost(survey, asked);
    const entry = { campaign: survey.hash, person, round: 0, ...spent };
    await this.#ledger.enter(entry, (before) => this.#checkTotal(spent.epsilon, person, before));
    // Another tab may have been faster: there is only one upload of a person.
    const kept = await this.#outbox.keep(survey.hash, name, canonicalJson(document, { fractions: true }));
    return this.#send(kept.body);
  }

  async #send(body) {
    const reply = await insist(this.#net, `${this.#address()}/reports`, {
      body, silenceIsFine: true, also: [425],
    });
    if (gaveUp(reply)) throw unreachable(reply);
    if (reply.status !== 200 && reply.status !== 201) throw refused("the collector", reply);
    await this.#outbox.markSent(this.#survey.hash, await this.#name(), body);
    return { body, before: reply.status === 200 };
  }
}
