// What a person reads before anything is asked: who asks, why answering is safe in three sentences
// with one number and a small picture, and details on request.

import { cost } from "../src/index.js";
import { element, foreign, heading, paragraph } from "./elements.js";

/** Rounded up: never less than what holds, but for what adding floats may have put on top. */
export const rounded = (number, digits, language) =>
  (Math.ceil(number * 10 ** digits - 1e-6) / 10 ** digits).toLocaleString(language);

/** The servers of a campaign, as the texts name them. */
export function hosts(campaign, language) {
  const host = (url) => new URL(url).host;
  const list = new Intl.ListFormat(language);
  return {
    collector: host(campaign.collector),
    dealers: list.format(campaign.dealers.map(({ url }) => host(url))),
  };
}

/** Your answer, what happens to it on this device, and what is sent. */
export function picture(text, hasCard) {
  const box = (mark, key, kind) =>
    element(
      "span",
      { class: `box ${kind}` },
      element("span", { class: "mark", "aria-hidden": "true" }, mark),
      element("span", {}, text(key)),
    );
  const sign = (mark) => element("span", { class: "sign", "aria-hidden": "true" }, mark);
  return element(
    "figure",
    { class: "picture" },
    box("✓", "picture_answer", "answer"),
    sign("+"),
    box("⚄", "picture_chance", "chance"),
    ...(hasCard ? [sign("+"), box("?", "picture_card", "card")] : []),
    element("span", { class: "result" }, sign("="), box("✉", "picture_sent", "sent")),
  );
}

/** A text in which one gap is printed in bold. */
function emphasised(text, key, gap, value) {
  const [before, after] = text(key, { [gap]: "\0" }).split("\0");
  return [before, element("strong", { class: "figure" }, value), after];
}

function reasons(campaign, text, language) {
  const { dealers } = campaign;
  const names = hosts(campaign, language);
  const second = dealers.length > 1 ? "safe_2_cards" : dealers.length ? "safe_2_card" : "safe_2_alone";
  const factor = rounded(Math.exp(cost(campaign).epsilon), 1, language);
  return [
    [text(dealers.length ? "safe_1_card" : "safe_1_alone")],
    [text(second, names)],
    emphasised(text, "safe_3", "factor", factor),
  ];
}

function details(campaign, text, language, spent) {
  const { epsilon, view } = cost(campaign);
  const { mechanism, hash, dealers, losses, invitations, rounds } = campaign;
  const names = hosts(campaign, language);
  const against = text(`against_${view}`, names);
  const lines = [text("details_cost", { epsilon: rounded(epsilon, 3, language), against })];
  if (dealers.length && view !== "dealer") {
    lines.push(text("details_dealer", { ...names, epsilon: rounded(losses.dealer, 3, language) }));
  }
  if (rounds > 1) lines.push(text("details_rounds", { rounds: String(rounds) }));
  if (!invitations) lines.push(text("details_public"));
  if (spent.answers) {
    const together = rounded(spent.epsilon, 3, language);
    lines.push(text("details_spent", { answers: String(spent.answers), epsilon: together }));
  }
  lines.push(text("details_mechanism", { mechanism: mechanism.mechanism, hash }));
  return element(
    "details",
    {},
    element("summary", {}, text("details")),
    ...lines.map((line) => paragraph(line, { class: "quiet" })),
  );
}

/**
 * The parts of the screen.
 *
 * @param campaign Which asks.
 * @param text The words, by key and gaps.
 * @param language For numbers and lists.
 * @param spent What answers on this device have cost before.
 */
export function introductionParts(campaign, text, language, spent) {
  const names = hosts(campaign, language);
  return [
    paragraph(text("who", names)),
    campaign.consent.trim() ? foreign("p", campaign.consent) : "",
    heading(2, text("safe_title")),
    picture(text, campaign.dealers.length > 0),
    element("ol", {}, ...reasons(campaign, text, language).map((parts) => element("li", {}, ...parts))),
    details(campaign, text, language, spent),
  ];
}
