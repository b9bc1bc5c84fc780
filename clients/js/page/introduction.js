// What a person reads before anything is asked: who asks, which answers are changed, what can be
// found out as a number and a picture of people, and under a fold how it works.

import { bytesOf, costView, lossOf } from "../src/survey.js";
import { element, paragraph, wide } from "./elements.js";

/** Four digits, rounded up as Python does, but for what adding floats may have put on top. */
export function rounded(number, language) {
  const scale = 10 ** (4 - (number > 0 ? Math.ceil(Math.log10(number)) : 0));
  const up = Number.isFinite(number) ? Math.max(0, Math.ceil(number * scale - 1e-6) / scale) : number;
  return up.toLocaleString(language, { maximumFractionDigits: 9 });
}

/** The servers of a survey, as the texts name them. */
export function hosts(survey, language) {
  const host = (url) => new URL(url).host;
  const list = new Intl.ListFormat(language);
  return {
    collector: host(survey.collector),
    dealers: list.format(survey.dealing.dealers.map(({ url }) => host(url))),
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

/** A text in one of whose gaps stands an element. */
export function around(text, key, gap, node, gaps = {}) {
  const [before, after] = text(key, { ...gaps, [gap]: "\0" }).split("\0");
  return [before, node, after];
}

/** Who asks, as the document says, and whose server collects: anybody may claim to be somebody. */
export function whoAsks(text, key, names, by, gaps = {}) {
  const asked = around(text, key, "who", element("bdi", {}, by ?? names.collector), gaps);
  return element("p", {}, ...asked, by ? ` ${text("goes_to", names)}` : "");
}

/** The picture of who asks. It is drawn, since policies of pages let no picture stand in a document. */
export function logoOf({ logo, by }, shown) {
  const canvas = element("canvas", { class: "logo", role: "img", "aria-label": by?.[shown] ?? "", width: 1, height: 1 });
  if (!by) canvas.setAttribute("aria-hidden", "true");
  createImageBitmap(new Blob([bytesOf(logo)], { type: "image/png" })).then((picture) => {
    [canvas.width, canvas.height] = [picture.width, picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0);
  }, () => canvas.remove());
  return canvas;
}

/** Whom to ask, if the document says: as text, never as a link. */
export const whomToAsk = (text, contact) =>
  contact ? element("p", { class: "quiet keep-lines" }, ...around(text, "contact", "contact", element("bdi", {}, contact))) : "";

/** A hundred people, of whom so many are marked. */
function crowdPicture(marked) {
  const people = Array.from({ length: 100 }, (_, at) => element("i", { class: at < marked ? "marked" : "" }));
  return element("div", { class: "people", "aria-hidden": "true" }, ...people);
}

/** What can be found out about one person in the whole study, computed here, in words. */
function foundOut({ study, waves }, text) {
  const { people } = study.collector;
  const often = waves > 1 ? ` ${text("consent_times")}` : "";
  const gaps = { before: "10", after: String(people), others: String(100 - people), times: often };
  const lines = [text(people < 100 ? "consent_number" : "consent_number_all", gaps)];
  if (study.together.people > people) {
    lines.push(text("consent_together", { after: String(study.together.people) }));
  }
  return lines.join(" ");
}

/**
 * What stands in the gap of a consent text: why it is safe, and what can be found out, in words and as
 * a picture. Among words of the survey's own it says who computed that.
 */
export function protection({ questions }, table, text, amongWords) {
  const isMixed = questions.some(({ sensitive }) => !sensitive);
  const changed = text(isMixed ? "consent_changed_open" : "consent_changed");
  const found = foundOut(table, text);
  return [
    paragraph(`${changed} ${text("consent_totals")}`),
    amongWords ? paragraph(`${text("computed")} ${found}`, { class: "computed" }) : paragraph(found),
    crowdPicture(table.study.collector.people),
  ];
}

/** What single answers cost, which are not changed, and that costs of waves and surveys add up. */
export function consentDetails(survey, text, language, shown) {
  const { questions, sensitive, together, wave, waves, keep_days: days } = survey;
  const quoted = (question) => text("consent_quoted", { words: question.text[shown] });
  const changed = questions.filter((question) => question.sensitive);
  const open = questions.filter((question) => !question.sensitive);
  const view = costView(sensitive);
  // Questions that share a coin cost what they cost together.
  const shares = (question) => sensitive.find((one) => one.question === question).joint ?? question;
  const entries = [...new Set(changed.map(shares))].map((whole) => changed.filter((one) => shares(one) === whole));
  const cost = (some) => lossOf(sensitive.filter(({ question }) => some.includes(question)), view);
  const named = (some) => {
    const list = some.map(quoted).join(", ");
    return some.length === 1 ? list : text("consent_sharing", { questions: list });
  };
  const lines = [];
  if (entries.length > 1) {
    const costs = entries.map((some) => `${named(some)} ε = ${rounded(cost(some), language)}`);
    lines.push(text("consent_each", { costs: costs.join("; ") }));
  }
  for (const { questions: shared, ask } of together) {
    if (ask === shared.length) continue;
    const list = changed.filter(({ name }) => shared.includes(name)).map(quoted).join(", ");
    lines.push(text("consent_drawn", { ask: String(ask), questions: list }));
  }
  if (open.length > 0) lines.push(text("consent_open", { questions: open.map(quoted).join(", ") }));
  if (waves > 1) lines.push(text("consent_linked", { wave: String(wave), waves: String(waves) }));
  if (days !== null) lines.push(text("consent_kept", { days: String(days) }));
  return [...lines, text("consent_adds")].map((line) => paragraph(line, { class: "quiet" }));
}

/** What is under the fold: how an answer is changed and who takes part, then all costs. */
export function fold(asked, text, language, ...lines) {
  const { dealers } = asked.dealing;
  const parties = dealers.length > 1 ? "safe_2_cards" : dealers.length ? "safe_2_card" : "safe_2_alone";
  return element(
    "details",
    {},
    element("summary", {}, text("details")),
    picture(text, dealers.length > 0),
    paragraph(text(parties, hosts(asked, language))),
    ...lines,
  );
}

/** The table of losses: which answers, by the collector alone, and with the dealers' help. */
function lossTable({ rows, deals, waves }, text, language) {
  const cell = ({ epsilon, people }) =>
    element("td", {}, text("loss", { epsilon: rounded(epsilon, language), people: String(people) }));
  const body = Object.entries(rows).map(([name, { collector, together }]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, text(`loss_${name}`, { waves: String(waves) })),
      cell(collector),
      ...(deals ? [cell(together)] : []),
    ));
  const heads = ["loss_alone", ...(deals ? ["loss_together"] : [])].map((key) =>
    element("th", { scope: "col" }, text(key)));
  const head = element("tr", {}, element("td"), ...heads);
  return element("table", { class: "losses" }, element("thead", {}, head), element("tbody", {}, ...body));
}

/** Everything that this device computed and knows: losses, earlier answers, mechanisms, the hash. */
export function ownDetails(asked, table, mechanisms, text, language, spent) {
  const names = hosts(asked, language);
  const against = text(`against_${table.study.collector.view}`, names);
  const lines = [];
  if (asked.dealing.verified) lines.push(text("details_verified"));
  if (!asked.invitations) lines.push(text("details_public"));
  if (spent.answers) {
    const together = rounded(spent.epsilon, language);
    lines.push(text("details_spent", { answers: String(spent.answers), epsilon: together }));
  }
  lines.push(text("details_mechanism", { mechanism: mechanisms.join(", "), hash: asked.hash }));
  return [
    paragraph(text("losses", { ...names, against }), { class: "quiet" }),
    wide(text("details"), lossTable(table, text, language)),
    ...lines.map((line) => paragraph(line, { class: "quiet" })),
  ];
}
