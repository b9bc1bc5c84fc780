// How a contributor comes by the cards of a survey: those of all parts at once, whatever is asked of
// this person, so that a dealer does not learn which items that is.

import { canonicalJson } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { addedHand, askForCards, readDealt, sameAtDealer } from "./hand.js";
import { deviceName, pseudonym } from "./identity.js";

/** What one dealer gives, by the names of the parts; null where no cards are to be had of it. */
async function dealtBy(survey, dealer, net, { secret, device }) {
  const body = canonicalJson({
    pseudonym: await pseudonym(secret, survey.hash, dealer.role),
    device: await deviceName(device, survey.hash, dealer.role),
  });
  const reply = await askForCards(survey, dealer, net, body);
  if (reply === null) return null;
  const { hands } = reply;
  const found = {};
  for (const { name, campaign } of survey.parts) {
    if (campaign.dealers.length === 0) continue;
    const hand = hands !== null && typeof hands === "object" && Object.hasOwn(hands, name) ? hands[name] : null;
    if (hand === null || typeof hand !== "object") {
      throw new ProtocolError("card", `the dealer must give a card for ${name}`);
    }
    found[name] = readDealt(campaign, hand);
  }
  return found;
}

/**
 * One's cards of all parts that have some; none where they are not to be had in time.
 *
 * @returns By the names of the parts: `card`, and `serials` where card sums are announced.
 * @throws {ProtocolError} A dealer serves another survey, or refuses.
 */
export async function fetchHands(survey, net, secrets) {
  const same = [];
  for (const dealer of survey.dealers) same.push(await sameAtDealer(survey, dealer, net));
  const dealt = [];
  for (const [at, dealer] of survey.dealers.entries()) {
    const hands = same[at] ? await dealtBy(survey, dealer, net, secrets) : null;
    if (hands === null && !survey.mayLeaveOut) return {};
    dealt.push(hands);
  }
  if (dealt.every((hands) => hands === null)) return {};
  return Object.fromEntries(
    survey.parts
      .filter(({ campaign }) => campaign.dealers.length > 0)
      .map(({ name, campaign }) => [name, addedHand(campaign, dealt.map((hands) => hands?.[name] ?? null))]),
  );
}
