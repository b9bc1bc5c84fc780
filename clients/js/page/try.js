// "Try it": a made-up answer is perturbed many times on this device, and a made-up crowd shows what
// a collector can still find out. Nothing is sent, kept or connected with the real answer.

import { crowd, madeUpReports, rowsOf, tellsNumbers } from "./crowd.js";
import { acts, bar, choices, element, foreign, heading, paragraph } from "./elements.js";

const TIMES = 100;
const MOST_ROWS = 6;
const SHARES = [5, 10, 30, 50]; // hundredths of the crowd

/** The values that a picture speaks of: the chosen one, another, and a few more. */
function spokenOf(k, value) {
  const others = Array.from({ length: k - 1 }, (_, at) => (value + 1 + at) % k);
  return [value, ...others.slice(0, MOST_ROWS - 1)];
}

/** How often each thing comes out of so many made-up answers. */
function picture(title, mechanism, rows, value) {
  const counts = rows.names.map(() => 0);
  for (const report of madeUpReports(mechanism, value, TIMES)) {
    for (const row of rows.find(report)) counts[row] += 1;
  }
  const bars = rows.names.map((name, row) => bar(name, counts[row] / TIMES, String(counts[row])));
  return element("section", { class: "chart" }, foreign("h2", title), element("ul", {}, ...bars));
}

/** The parts of the screen. */
export function tryParts({ mechanism, labels, shared }, text, language) {
  const percent = (share) =>
    share.toLocaleString(language, { style: "percent", maximumFractionDigits: 1 });
  const buttons = choices("made-up", labels.slice(0, 20), 0);
  const chosen = () => Number(form.querySelector("input:checked").value);
  const results = element("div", { class: "charts", "aria-live": "polite" });
  const found = element("ul", { class: "crowd", "aria-live": "polite" });
  const share = element(
    "select",
    { id: "share", autocomplete: "off" },
    ...SHARES.map((hundredths) => element("option", { value: String(hundredths) }, percent(hundredths / 100))),
  );
  share.value = "30";

  function perturb() {
    const value = chosen();
    const values = spokenOf(labels.length, value);
    const rows = rowsOf(mechanism, labels, values);
    results.replaceChildren(
      picture(text("try_if", { answer: labels[value] }), mechanism, rows, value),
      picture(text("try_if", { answer: labels[values[1]] }), mechanism, rows, values[1]),
    );
  }

  function ask() {
    const { people, truth, estimate } = crowd(mechanism, chosen(), Number(share.value) / 100);
    found.replaceChildren(
      bar(text("try_truth", { people: people.toLocaleString(language) }), truth, percent(truth), "true"),
      bar(text("try_estimate"), estimate, percent(estimate)),
    );
  }

  const button = (key, act) => element("button", { type: "button", onclick: act }, text(key));
  const form = element(
    "form",
    { autocomplete: "off" },
    element("fieldset", {}, element("legend", {}, text("try_choose")), ...buttons),
    heading(2, text("try_crowd_title")),
    paragraph(text("try_crowd")),
    element("div", { class: "field" }, element("label", { for: "share" }, text("try_share")), share),
    acts(button("try_crowd_again", ask)),
    found,
    heading(2, text("try_one_title")),
    paragraph(text(tellsNumbers(mechanism) ? "try_numbers" : "try_counts", { times: String(TIMES) })),
    acts(button("try_again", perturb)),
    results,
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    perturb();
    ask();
  });
  perturb();
  ask();
  const together = shared > 1 ? paragraph(text("try_together", { ask: String(shared) })) : "";
  return [paragraph(text("try_nothing_sent")), together, form];
}
