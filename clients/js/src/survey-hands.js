// How a contributor comes by the cards of a survey: those of all parts at once, whatever is asked of
// this person, so that a dealer does not learn which items that is.

import { canonicalJson } from "./documents.js";
import { ProtocolError } from "./errors.js";
import { NO_CARD, addedHand, readDealt, sameBytes } from "./hand.js";
import { deviceName, pseudonym } from "./identity.js";
import { gaveUp, insist, readReply, refused } from "./steps.js";
import { surveyPath } from "./survey.js";

/** Whether a dealer serves the very same survey; false where it is silent. */
async function sameAtDealer(survey, { url }, net) {
  const reply = await insist(net, url + surveyPath(survey.hash), { silenceIsFine: true });
  if (gaveUp(reply)) return false;
  if (reply.status !== 200) throw refused("the dealer", reply);
  if (!sameBytes(reply.body, survey.bytes)) {
    throw new ProtocolError("different", "dealer and collector serve different surveys");
  }
  return true;
}

/** What one dealer gives, by the names of the parts; null where no cards are to be had of it. */
async function dealtBy(survey, { url, role }, net, { secret, device }) {
  const body = canonicalJson({
    pseudonym: await pseudonym(secret, survey.hash, role),
    device: await deviceName(device, survey.hash, role),
  });
  const address = `${url}${surveyPath(survey.hash)}/cards`;
  const reply = await insist(net, address, { body, silenceIsFine: true, also: [425] });
  if (gaveUp(reply)) return null;
  const refusal = reply.status === 200 ? null : refused("the dealer", reply);
  // Somebody whom the dealer does not know is not asked to send anything to the collector either.
  if (NO_CARD.includes(reply.status) && refusal.kind !== "unknown-pseudonym") return null;
  if (refusal) throw refusal;
  const { hands } = readReply(reply);
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
      .map(({ name, campaign }) => [name, addedHand(campaign, dealt.map((hands) => hands?.[name] ?? null), 0)]),
  );
}
