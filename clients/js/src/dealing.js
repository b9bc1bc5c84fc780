// How a contributor comes by cards: from one dealer or several, from a committee, or not at all. Those
// of all questions at once, whatever is asked of this person, so that a dealer does not learn that.

import { check, checkAddress, checkTotal, hasFields, isWhole, surveyPath } from "./checks.js";
import { evidenceOf, openCard } from "./committee.js";
import { canonicalJson, fromHex, toHex } from "./documents.js";
import { ProtocolError, UnsupportedError } from "./errors.js";
import { cardKey } from "./hpke.js";
import { deviceName, pseudonym } from "./identity.js";
import { loadVerified } from "./lazy.js";
import { losses } from "./loss.js";
import { numbersOf, shapeOf } from "./mask_coins.js";
import { announces, checkCard, deals, resized } from "./mechanisms.js";
import { gaveUp, insist, readReply, refused } from "./steps.js";

const NO_CARD = [404, 410, 425]; // no seat under this name, cards burned, or not dealt yet
const MOST_DEALERS = 16;
const DEALT_TOGETHER = ["JRR", "DRR", "OLH"]; // a committee shuffles cards that everybody knows
const NOBODY = { dealers: [], mayLeaveOut: false, enrols: false, together: false };

function readDealers(document, dealt) {
  const { verified = false, ...others } = document;
  check(hasFields(others, ["kind", "urls", "leave_out", "enrol_first"]), "dealing");
  check(verified === true || !Object.hasOwn(document, "verified"), "dealing");
  const { urls, leave_out: mayLeaveOut, enrol_first: enrols } = document;
  check(!verified || (!enrols && dealt.every(({ mechanism }) => announces(mechanism))), "dealing");
  check(Array.isArray(urls) && urls.length >= 1 && urls.length <= MOST_DEALERS, "dealing");
  check(typeof mayLeaveOut === "boolean" && typeof enrols === "boolean", "dealing");
  check(urls.length > 1 ? !enrols : !mayLeaveOut, "dealing");
  for (const { mechanism } of dealt) {
    const { dealers = 1 } = mechanism;
    check(dealers === urls.length && (urls.length === 1 || announces(mechanism)), "dealing");
  }
  const dealers = urls.map((url, number) => ({ url: checkAddress(url), role: `dealer:${number}` }));
  return { dealers, mayLeaveOut, enrols, together: false, verified };
}

function readCommittee(document, dealt) {
  check(hasFields(document, ["kind", "parties", "threshold"]), "dealing");
  const { parties } = document;
  check(Array.isArray(parties) && parties.length >= 3 && parties.length <= MOST_DEALERS, "dealing");
  check(dealt.length === 1 && DEALT_TOGETHER.includes(dealt[0].mechanism.mechanism), "dealing");
  const dealers = parties.map((party, number) => ({ url: checkAddress(party?.url), role: `party:${number}` }));
  return { dealers, mayLeaveOut: false, enrols: true, together: true };
}

/** Who deals: addresses, the role from which the pseudonym at each follows, and how. */
export function readDealing(document, collector, sensitive) {
  const dealt = sensitive.filter(({ mechanism }) => deals(mechanism));
  if (document?.kind === "groups") {
    throw new UnsupportedError("dealing", "this client takes no cards of groups of contributors");
  }
  check((document?.kind === "none") === (dealt.length === 0), "dealing");
  if (document.kind === "none") return NOBODY;
  check(document.kind === "dealers" || document.kind === "committee", "dealing");
  const found = document.kind === "dealers" ? readDealers(document, dealt) : readCommittee(document, dealt);
  const origins = [collector, ...found.dealers.map(({ url }) => url)].map((url) => new URL(url).origin);
  check(new Set(origins).size === origins.length, "dealing: one server must not be both; this");
  check(new Set(dealt.map(({ mechanism }) => mechanism.n)).size === 1, "decks");
  return Object.freeze(found);
}

/** The mechanism of an answer for as many people as enrolled, if it keeps what the survey promises. */
export function forPeople(survey, { mechanism, losses: promised, name }, n, who) {
  if (!survey.dealing.enrols || !deals(mechanism)) return mechanism;
  if (!isWhole(n, 0) || n > survey.capacity) {
    throw new ProtocolError("damaged", `${who} has not said how many people are dealt cards`);
  }
  if (n < mechanism.n) throw new ProtocolError("too-few", `${n} have enrolled: too few`);
  if (n === mechanism.n) return mechanism;
  const dealt = resized(mechanism, n);
  checkTotal(losses(dealt).dealer, promised.dealer, `its ε for ${name}`);
  return dealt;
}

const sameBytes = (left, right) =>
  left.length === right.length && left.every((byte, at) => byte === right[at]);

/** Whether a dealer serves the very same survey; false where it may be silent, and is. */
async function sameAtDealer(survey, { url }, net, silenceIsFine = true) {
  const reply = await insist(net, url + surveyPath(survey.hash), { silenceIsFine });
  if (gaveUp(reply)) return false;
  if (reply.status !== 200) throw refused("the dealer", reply);
  if (!sameBytes(reply.body, survey.bytes)) {
    throw new ProtocolError("different", "dealer and collector serve different surveys");
  }
  return true;
}

/**
 * Refuse a survey of which a dealer serves another version, before anybody is asked; a dealer that is
 * silent costs the cards only.
 */
export async function checkDealers(survey, net) {
  const soon = { ...net, patience: Math.min(net.patience, 1) };
  await Promise.all(survey.dealing.dealers.map((dealer) => sameAtDealer(survey, dealer, soon)));
}

/** A request for one's cards, or for a place in the next deal; `more` goes along. */
async function cardRequest(survey, role, { secret, device }, more = {}) {
  const name = await pseudonym(secret, survey.hash, role);
  // A committee seals to a key of the device: its parties need not be shown the device's name.
  if (survey.dealing.together) return canonicalJson({ pseudonym: name, ...more });
  return canonicalJson({ pseudonym: name, device: await deviceName(device, survey.hash, role), ...more });
}

/** What the collector tells everybody: `state`, and `n`, for how many people cards were dealt. */
export async function collectorStatus(survey, net) {
  const reply = await insist(net, `${survey.collector}${surveyPath(survey.hash)}/status`);
  if (reply.status !== 200) throw refused("the collector", reply);
  return readReply(reply);
}

/** For how many people the collector says cards were dealt; null where nobody enrols. */
export async function peopleDealtTo(survey, net) {
  if (!survey.dealing.enrols) return null;
  const { state, n } = await collectorStatus(survey, net);
  if (n !== null && n !== undefined) return n;
  if (state === "closed") throw new ProtocolError("closed", "the survey is closed");
  throw new ProtocolError("not-dealt", "cards are not dealt yet: enrol, and come again");
}

/** Take a place in the next deal, at every dealer. */
export async function takeSeats(survey, net, secrets) {
  const { dealers, together } = survey.dealing;
  const more = together ? { key: toHex((await cardKey(secrets.device, survey.hash)).open) } : {};
  for (const dealer of dealers) await sameAtDealer(survey, dealer, net, false);
  for (const { url, role } of dealers) {
    const body = await cardRequest(survey, role, secrets, more);
    const reply = await insist(net, `${url}${surveyPath(survey.hash)}/seats`, { body });
    if (reply.status !== 200 && reply.status !== 201) throw refused("the dealer", reply);
  }
}

/** What a server that deals replies; null where no card is to be had of it. */
async function askForCards(survey, { url }, net, body) {
  const address = `${url}${surveyPath(survey.hash)}/cards`;
  const reply = await insist(net, address, { body, silenceIsFine: true, also: [425] });
  if (gaveUp(reply)) return null;
  const refusal = reply.status === 200 ? null : refused("the dealer", reply);
  // Who did not enrol in time has no card and may answer; where nobody enrols, somebody whom the
  // dealer does not know is not asked to send anything to the collector either.
  const isStranger = refusal?.kind === "unknown-pseudonym" && !survey.dealing.enrols;
  if (NO_CARD.includes(reply.status) && !isStranger) return null;
  if (refusal) throw refusal;
  return readReply(reply);
}

const dealtAnswers = ({ sensitive }) => sensitive.filter(({ mechanism }) => deals(mechanism));

/** What one dealer gave, by question: `card`, and `serial` where card sums are announced. */
function readCards(survey, { n, cards }) {
  const found = {};
  for (const answer of dealtAnswers(survey)) {
    const given = cards !== null && typeof cards === "object" && Object.hasOwn(cards, answer.name) ? cards[answer.name] : null;
    if (given === null || typeof given !== "object" || !Object.hasOwn(given, "card")) {
      throw new ProtocolError("card", `the dealer must give a card for ${answer.name}`);
    }
    const { card, serial } = given;
    checkCard(forPeople(survey, answer, n, "the dealer"), card);
    if (announces(answer.mechanism) && !fromHex(serial, 16)) {
      throw new ProtocolError("card", `the dealer must give a serial for ${answer.name}`);
    }
    found[answer.name] = { card, serial };
  }
  return { n: n ?? null, cards: found };
}

/** What all dealers gave, null from one that was left out, as one card of an answer. */
function added(dealt, { name, mechanism }, several) {
  const given = dealt.filter((one) => one !== null).map(({ cards }) => cards[name]);
  if (!announces(mechanism)) return { card: given[0].card };
  return {
    card: several ? given.map(({ card }) => card) : given[0].card,
    serials: dealt.map((one) => one?.cards[name].serial ?? null),
  };
}

const broken = () => new ProtocolError("promise", "a dealer deals what it has not promised: nothing was sent");

/** Verified cards: drawn by this device, and checked against what each dealer has promised. */
async function verifiedCards(survey, net, secrets) {
  const { dealers, mayLeaveOut } = survey.dealing;
  const verified = await loadVerified();
  const { promises: told } = await collectorStatus(survey, net);
  const promises = Array.isArray(told) ? told.map((one) => verified.readPromise(survey.hash, one)) : [];
  if (promises.length !== dealers.length || promises.includes(null)) {
    throw new ProtocolError("promise", "the collector has not said what dealers promise");
  }
  const answers = dealtAnswers(survey);
  const laws = Object.fromEntries(
    answers.map(({ name, mechanism }) => [name, { numbers: numbersOf(mechanism), rate: mechanism.card_rate }]),
  );
  const dealt = [];
  for (const [at, dealer] of dealers.entries()) {
    const asked = verified.serialAndNonce(secrets.device, survey.hash, dealer.role);
    const body = await cardRequest(survey, dealer.role, secrets, verified.requestOf(asked));
    const reply = (await sameAtDealer(survey, dealer, net)) ? await askForCards(survey, dealer, net, body) : null;
    if (reply === null && !mayLeaveOut) return { n: null, cards: {} };
    const cards = reply === null ? null : verified.checkDealt(promises[at], asked, laws, reply);
    if (reply !== null && cards === null) throw broken();
    dealt.push(cards === null ? null : { asked, cards });
  }
  if (dealt.every((one) => one === null)) return { n: null, cards: {} };
  const given = dealt.filter((one) => one !== null).length;
  const cards = answers.map(({ name, mechanism }) => {
    const own = dealt.map((one) => one && { asked: one.asked, card: one.cards[name] });
    const prove = verified.provingOf(survey.hash, promises, name, own, shapeOf(mechanism));
    // Cards of 0: what is reported with them the coin says, and that is what is proved.
    const zero = numbersOf(mechanism) === 1 ? 0 : Array(numbersOf(mechanism)).fill(0);
    return [name, { card: dealers.length > 1 ? Array(given).fill(zero) : zero, prove }];
  });
  return { n: null, cards: Object.fromEntries(cards) };
}

async function cardsOfDealers(survey, net, secrets) {
  const { dealers, mayLeaveOut } = survey.dealing;
  const same = [];
  for (const dealer of dealers) same.push(await sameAtDealer(survey, dealer, net));
  const dealt = [];
  for (const [at, dealer] of dealers.entries()) {
    const body = await cardRequest(survey, dealer.role, secrets);
    const reply = same[at] ? await askForCards(survey, dealer, net, body) : null;
    if (reply === null && !mayLeaveOut) return { n: null, cards: {} };
    dealt.push(reply === null ? null : readCards(survey, reply));
  }
  const first = dealt.find((one) => one !== null);
  if (first === undefined) return { n: null, cards: {} };
  const several = dealers.length > 1;
  const cards = dealtAnswers(survey).map((answer) => [answer.name, added(dealt, answer, several)]);
  return { n: first.n, cards: Object.fromEntries(cards) };
}

/** One's card from the shares of all parties; none where there is none in time. */
async function cardOfCommittee(survey, net, secrets) {
  const { dealers } = survey.dealing;
  const none = { n: null, cards: {} };
  for (const party of dealers) if (!(await sameAtDealer(survey, party, net))) return none;
  const replies = [];
  for (const party of dealers) {
    const reply = await askForCards(survey, party, net, await cardRequest(survey, party.role, secrets));
    if (reply === null) return none;
    replies.push(reply);
  }
  const [answer] = dealtAnswers(survey);
  const { n } = replies[0];
  const mechanism = forPeople(survey, answer, n, "the dealer");
  const key = await cardKey(secrets.device, survey.hash);
  try {
    return { n, cards: { [answer.name]: { card: await openCard(survey, mechanism, key, replies) } } };
  } catch (error) {
    // Tell every party that this card is wrong, and what shows it; others keep their cards.
    const { accused = null, provable = false } = error;
    const evidence = provable ? evidenceOf(replies[accused], accused, key) : null;
    for (const { url, role } of dealers) {
      const soon = { ...net, patience: Math.min(net.patience, 2) };
      const body = await cardRequest(survey, role, secrets, { accused, evidence });
      await insist(soon, `${url}${surveyPath(survey.hash)}/complaints`, { body, silenceIsFine: true });
    }
    throw error;
  }
}

/**
 * One's cards of all answers that have some; none where they are not to be had in time.
 *
 * @returns `cards` by the names of the answers: `card`, and `serials` where card sums are announced;
 *   `n`: for how many people they were dealt, where people enrol.
 * @throws {ProtocolError} A dealer serves another survey, or refuses.
 */
export async function fetchCards(survey, net, secrets) {
  if (survey.dealing.dealers.length === 0) return { n: null, cards: {} };
  const { together, verified } = survey.dealing;
  const fetch = together ? cardOfCommittee : verified ? verifiedCards : cardsOfDealers;
  const found = await fetch(survey, net, secrets);
  const n = await peopleDealtTo(survey, net);
  if (n !== null && Object.keys(found.cards).length > 0 && found.n !== n) {
    throw new ProtocolError("different", "dealer and collector name different numbers of people");
  }
  return { n, cards: found.cards };
}
