// How a contributor comes by cards: from one dealer, from several, from a committee, or not at all.

import { campaignPath, forPeople } from "./campaign.js";
import { evidenceOf, openCard } from "./committee.js";
import { canonicalJson, fromHex, toHex } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { cardKey } from "./hpke.js";
import { deviceName, pseudonym } from "./identity.js";
import { checkCard } from "./mechanisms.js";
import { gaveUp, insist, readReply, refused } from "./steps.js";

const NO_CARD = [404, 410, 425]; // no seat under this name, cards burned, or not dealt yet

/** Where servers have a document: a campaign, or a survey, which has a questionnaire. */
export const pathOf = ({ hash, questionnaire }) => (questionnaire ? `/v1/surveys/${hash}` : campaignPath(hash));

const sameBytes = (left, right) =>
  left.length === right.length && left.every((byte, at) => byte === right[at]);

/** Whether a dealer serves the very same document; false where it may be silent, and is. */
export async function sameAtDealer(document, { url }, net, silenceIsFine = true) {
  const reply = await insist(net, url + pathOf(document), { silenceIsFine });
  if (gaveUp(reply)) return false;
  if (reply.status !== 200) throw refused("the dealer", reply);
  if (!sameBytes(reply.body, document.bytes)) {
    throw new ProtocolError("different", "dealer and collector serve different documents");
  }
  return true;
}

/**
 * Refuse a campaign or survey of which a dealer serves another version, before anybody is asked; a
 * dealer that is silent costs the card only.
 */
export async function checkDealers(document, net) {
  const soon = { ...net, patience: Math.min(net.patience, 1) };
  await Promise.all(document.dealers.map((dealer) => sameAtDealer(document, dealer, soon)));
}

/** A request for one's cards, or for a place in the next deal; `more` goes along. */
async function cardRequest(campaign, role, { secret, device }, more = {}) {
  const name = await pseudonym(secret, campaign.hash, role);
  // A committee seals to a key of the device: its parties need not be shown the device's name.
  if (campaign.byCommittee) return canonicalJson({ pseudonym: name, ...more });
  return canonicalJson({ pseudonym: name, device: await deviceName(device, campaign.hash, role), ...more });
}

/** What the collector tells everybody: `state`, and `n`, for how many people cards were dealt. */
export async function collectorStatus(campaign, net) {
  const reply = await insist(net, `${campaign.collector}${campaignPath(campaign.hash)}/status`);
  if (reply.status !== 200) throw refused("the collector", reply);
  return readReply(reply);
}

/** The mechanism for as many people as the collector says were dealt cards. */
export async function announcedMechanism(campaign, net) {
  if (!campaign.enrols) return campaign.mechanism;
  const { state, n } = await collectorStatus(campaign, net);
  if (n !== null && n !== undefined) return forPeople(campaign, n, "the collector");
  if (state === "closed") throw new ProtocolError("closed", "the campaign is closed");
  throw new ProtocolError("not-dealt", "cards are not dealt yet: enrol, and come again");
}

/** Take a place in the next deal, at every dealer. */
export async function takeSeats(campaign, net, secrets) {
  const more = {};
  if (campaign.byCommittee) more.key = toHex((await cardKey(secrets.device, campaign.hash)).open);
  for (const dealer of campaign.dealers) await sameAtDealer(campaign, dealer, net, false);
  for (const { url, role } of campaign.dealers) {
    const body = await cardRequest(campaign, role, secrets, more);
    const reply = await insist(net, `${url}${campaignPath(campaign.hash)}/seats`, { body });
    if (reply.status !== 200 && reply.status !== 201) throw refused("the dealer", reply);
  }
}

/** What a server that deals replies; null where no card is to be had of it. */
export async function askForCards(campaign, { url }, net, body) {
  const address = `${url}${pathOf(campaign)}/cards`;
  const reply = await insist(net, address, { body, silenceIsFine: true, also: [425] });
  if (gaveUp(reply)) return null;
  const refusal = reply.status === 200 ? null : refused("the dealer", reply);
  // Who did not enrol in time has no card and may answer; where nobody enrols, somebody whom the
  // dealer does not know is not asked to send anything to the collector either.
  const isStranger = refusal?.kind === "unknown-pseudonym" && !campaign.enrols;
  if (NO_CARD.includes(reply.status) && !isStranger) return null;
  if (refusal) throw refusal;
  return readReply(reply);
}

/** What one dealer gives; null where no card is to be had of it. */
async function dealtBy(campaign, dealer, net, secrets) {
  const body = await cardRequest(campaign, dealer.role, secrets);
  const document = await askForCards(campaign, dealer, net, body);
  return document === null ? null : readDealt(campaign, document);
}

/** The card that a dealer gave for one campaign, checked. */
export function readDealt(campaign, { n, card, serial }) {
  const mechanism = forPeople(campaign, n, "the dealer");
  checkCard(mechanism, card);
  if (!campaign.announces) return { mechanism, card };
  if (!fromHex(serial, 16)) throw new ProtocolError("card", "the dealer must give a serial number");
  return { mechanism, card, serial };
}

/** One's card, from the servers that deal; null where there is none in time. */
async function dealtCard(campaign, net, secrets) {
  const same = [];
  for (const dealer of campaign.dealers) same.push(await sameAtDealer(campaign, dealer, net));
  const hands = [];
  for (const [at, dealer] of campaign.dealers.entries()) {
    const hand = same[at] ? await dealtBy(campaign, dealer, net, secrets) : null;
    if (hand === null && !campaign.mayLeaveOut) return null;
    hands.push(hand);
  }
  return addedHand(campaign, hands);
}

/** What all dealers gave, null from one that was left out, as one card; null where none gave. */
export function addedHand(campaign, hands) {
  const held = hands.filter((hand) => hand !== null);
  if (held.length === 0) return null;
  const { mechanism } = held[0];
  if (!campaign.announces) return { card: held[0].card, mechanism };
  return {
    card: campaign.dealers.length > 1 ? held.map((hand) => hand.card) : held[0].card,
    serials: hands.map((hand) => hand?.serial ?? null),
    mechanism,
  };
}

/** One's card, from the shares of all parties; null where there is none in time. */
async function committeeCard(campaign, net, secrets) {
  for (const party of campaign.dealers) {
    if (!(await sameAtDealer(campaign, party, net))) return null;
  }
  const replies = [];
  for (const party of campaign.dealers) {
    const body = await cardRequest(campaign, party.role, secrets);
    const reply = await askForCards(campaign, party, net, body);
    if (reply === null) return null;
    replies.push(reply);
  }
  const mechanism = forPeople(campaign, replies[0].n, "the dealer");
  const key = await cardKey(secrets.device, campaign.hash);
  try {
    return { card: await openCard(campaign, mechanism, key, replies), mechanism };
  } catch (error) {
    // Tell every party that this card is wrong, and what shows it; others keep their cards.
    const { accused = null, provable = false } = error;
    const evidence = provable ? evidenceOf(replies[accused], accused, key) : null;
    for (const { url, role } of campaign.dealers) {
      const address = `${url}${campaignPath(campaign.hash)}/complaints`;
      const soon = { ...net, patience: Math.min(net.patience, 2) };
      const body = await cardRequest(campaign, role, secrets, { accused, evidence });
      await insist(soon, address, { body, silenceIsFine: true });
    }
    throw error;
  }
}

/**
 * One's `card` (null: none in time; of several dealers a list), the `mechanism` to answer
 * by and, where sums are announced, `serials` (null: of a dealer that was left out).
 */
export async function fetchHand(campaign, net, { secret, device }) {
  if (campaign.dealers.length === 0) return { card: null, mechanism: campaign.mechanism };
  const fetchCard = campaign.byCommittee ? committeeCard : dealtCard;
  const hand = await fetchCard(campaign, net, { secret, device });
  const mechanism = await announcedMechanism(campaign, net);
  if (hand === null) return { card: null, mechanism };
  if (hand.mechanism.n !== mechanism.n) {
    throw new ProtocolError("different", "dealer and collector name different numbers of people");
  }
  return hand;
}
