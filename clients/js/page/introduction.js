// What a person reads before anything is asked: who asks, why answering is safe in three sentences
// with one number and a small picture, and details on request.

import { cost } from "../src/campaign.js";
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

/** A consent text: what everybody should read, and the lines under its heading for details. */
export function consentBlocks(consent) {
  const blocks = consent.split(/\n{2,}/u).filter((block) => block.trim());
  const [title, ...lines] = blocks.at(-1)?.split("\n") ?? [];
  if (!title?.trim().endsWith(":") || lines.length === 0) return { shown: blocks, details: [] };
  return { shown: blocks.slice(0, -1), details: lines };
}

/** A text in one of whose gaps stands an element. */
export function around(text, key, gap, node, gaps = {}) {
  const [before, after] = text(key, { ...gaps, [gap]: "\0" }).split("\0");
  return [before, node, after];
}

const figure = (value) => element("strong", { class: "figure" }, value);

/** Who asks, as the document says, and whose server collects: anybody may claim to be somebody. */
export function whoAsks(text, key, names, by, gaps = {}) {
  const asked = around(text, key, "who", element("bdi", {}, by ?? names.collector), gaps);
  return element("p", {}, ...asked, by ? ` ${text("goes_to", names)}` : "");
}

/** Whom to ask, if the document says: as text, never as a link. */
export const whomToAsk = (text, contact) =>
  contact ? element("p", { class: "quiet keep-lines" }, ...around(text, "contact", "contact", element("bdi", {}, contact))) : "";

const PRIOR = 0.1; // as consent texts have it

/** The condition under which a number holds: what masks hide is told by who knows the card. */
const unless = (text, view) => ({ unless: view === "everything" ? text("unless_card") : "" });

/** What somebody can come to believe at most, computed here, whatever a consent text says. */
export function computed({ epsilon, view }, times, text, language) {
  const percent = (share) =>
    (Math.ceil(share * 1000 - 1e-6) / 1000).toLocaleString(language, { style: "percent", maximumFractionDigits: 1 });
  const odds = PRIOR * Math.exp(epsilon * times);
  const after = odds < Infinity ? odds / (odds + 1 - PRIOR) : 1;
  const parts = around(text, "computed", "after", figure(percent(after)), {
    before: percent(PRIOR), ...unless(text, view),
  });
  const figures = [PRIOR, after].map((share) => percent(share).replace(/\s/gu, ""));
  return { figures, line: element("p", { class: "computed" }, ...parts) };
}

/** One number: what was computed here goes to the details where the text says it, and no other. */
export function oneNumber(shown, { figures, line }) {
  const said = shown.join(" ").replace(/\s/gu, "").match(/[\d.,]+%/gu) ?? [];
  const same = said.includes(figures[1]) && said.every((figure) => figures.includes(figure));
  return same ? { above: [], below: [line] } : { above: [line], below: [] };
}

function reasons(campaign, text, language) {
  const { dealers } = campaign;
  const names = hosts(campaign, language);
  const second = dealers.length > 1 ? "safe_2_cards" : dealers.length ? "safe_2_card" : "safe_2_alone";
  const { epsilon, view } = cost(campaign);
  const factor = rounded(Math.exp(epsilon), 1, language);
  return [
    [text(dealers.length ? "safe_1_card" : "safe_1_alone")],
    [text(second, names)],
    around(text, "safe_3", "factor", figure(factor), unless(text, view)),
  ];
}

function details(campaign, consent, below, text, language, spent) {
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
    ...below,
    ...consent.map((line) => foreign("p", line, "quiet")),
    ...lines.map((line) => paragraph(line, { class: "quiet" })),
  );
}

/** The parts of the screen; `spent`: what answers on this device have cost before. */
export function introductionParts(campaign, text, language, spent) {
  const consent = consentBlocks(campaign.consent);
  // A text with details of its own begins with why it is safe; to another one the page adds that.
  const own = consent.details.length === 0;
  const words = consent.shown.map((block) => foreign("p", block));
  const safe = reasons(campaign, text, language).map((parts) => element("li", {}, ...parts));
  const number = computed(cost(campaign), campaign.rounds, text, language);
  const { above, below } = own ? { below: [] } : oneNumber(consent.shown, number);
  return [
    whoAsks(text, "who", hosts(campaign, language), campaign.by),
    ...(own ? words : []),
    whomToAsk(text, campaign.contact),
    heading(2, text("safe_title")),
    picture(text, campaign.dealers.length > 0),
    ...(own ? [element("ol", {}, ...safe)] : [...words, ...above]),
    details(campaign, consent.details, below, text, language, spent),
  ];
}
