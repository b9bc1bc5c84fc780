// How a contributor comes by cards: from one dealer, from several, or not at all.

import { campaignPath } from "./campaign.js";
import { canonicalJson, fromHex } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { deviceName, pseudonym } from "./identity.js";
import { checkCard } from "./mechanisms.js";
import { gaveUp, insist, readReply, refused } from "./steps.js";

const NO_CARD = [404, 410, 425]; // no seat under this name, cards burned, or not dealt yet

function sameBytes(left, right) {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** Whether a dealer serves the very same campaign; false where it serves nothing. */
async function sameAtDealer(campaign, { url }, net) {
  const reply = await insist(net, url + campaignPath(campaign.hash), { silenceIsFine: true });
  if (gaveUp(reply)) return false;
  if (reply.status !== 200) throw refused("the dealer", reply);
  if (!sameBytes(reply.body, campaign.bytes)) {
    throw new ProtocolError("different", "dealer and collector serve different campaigns");
  }
  return true;
}

/** What one dealer gives, for all rounds; null where no card is to be had of it. */
async function dealtBy(campaign, { url, role }, net, secret, device) {
  const body = canonicalJson({
    pseudonym: await pseudonym(secret, campaign.hash, role),
    device: await deviceName(device, campaign.hash, role),
  });
  const address = `${url}${campaignPath(campaign.hash)}/cards`;
  const reply = await insist(net, address, { body, silenceIsFine: true, also: [425] });
  if (gaveUp(reply) || NO_CARD.includes(reply.status)) return null;
  if (reply.status !== 200) throw refused("the dealer", reply);
  const { cards, serials } = readReply(reply);
  if (!Array.isArray(cards) || cards.length !== campaign.rounds) {
    throw new ProtocolError("card", `the dealer must give ${campaign.rounds} cards`);
  }
  for (const card of cards) checkCard(campaign.mechanism, card);
  if (!campaign.announces) return { cards };
  const named = Array.isArray(serials) && serials.length === campaign.rounds;
  if (!named || !serials.every((serial) => fromHex(serial, 16))) {
    throw new ProtocolError("card", `the dealer must give ${campaign.rounds} serials`);
  }
  return { cards, serials };
}

/**
 * One's card of a round, and the serial numbers that go with it where card sums are announced.
 *
 * @returns `card`: null where none is to be had in time, of several dealers a list of theirs; `serials`: one from each dealer, null from
 *   one that was left out; undefined where reports carry none.
 * @throws {ProtocolError} A dealer serves another campaign, or refuses.
 */
export async function fetchHand(campaign, net, { secret, device, round }) {
  const same = [];
  for (const dealer of campaign.dealers) same.push(await sameAtDealer(campaign, dealer, net));
  const hands = [];
  for (const [at, dealer] of campaign.dealers.entries()) {
    const hand = same[at] ? await dealtBy(campaign, dealer, net, secret, device) : null;
    if (hand === null && !campaign.mayLeaveOut) return { card: null };
    hands.push(hand);
  }
  const held = hands.filter((hand) => hand !== null);
  if (held.length === 0) return { card: null };
  if (!campaign.announces) return { card: held[0].cards[round] };
  return {
    card: campaign.dealers.length > 1 ? held.map((hand) => hand.cards[round]) : held[0].cards[round],
    serials: hands.map((hand) => hand?.serials[round] ?? null),
  };
}
