// Small helpers that make elements. Texts are children, never markup, so that nothing in a survey
// can be a script.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const paragraph = (words, properties) => element("p", properties, words);

/** Words of a survey: in their own direction, lines as they were written. */
export const foreign = (tag, words, more = "") =>
  element(tag, { dir: "auto", class: `keep-lines ${more}`.trim() }, words);

export const heading = (level, words) => element(`h${level}`, {}, words);

export const acts = (...buttons) => element("div", { class: "acts" }, ...buttons);

/** What becomes of the answer to a question: "changed" before it is sent, or "open". */
export const badge = (text, kind) => element("p", { class: `badge ${kind}`, id: "badge" }, text(`badge_${kind}`));

/** A table that can be moved where the screen is too narrow for it, by keys too. */
export const wide = (name, table) =>
  element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, table);

/** A choice of one among labels. */
export function choices(name, labels, chosen = -1) {
  return labels.map((label, value) => {
    const properties = { type: "radio", name, value: String(value), autocomplete: "off" };
    const input = element("input", { ...properties, checked: value === chosen });
    return element("label", { class: "choice" }, input, foreign("span", label));
  });
}

/** A field for a number; phones show no minus beside digits. */
export const numberInput = (low, chosen, language) =>
  element("input", {
    type: "text", id: "number", autocomplete: "off", "aria-describedby": "problem",
    inputmode: low < 0 ? "text" : "decimal",
    value: chosen?.toLocaleString(language, { useGrouping: false, maximumFractionDigits: 20 }) ?? "",
  });

/**
 * The number that was typed, or NaN. Fields of the type "number" drop a mark of another language, so
 * that 7,5 becomes 75: here both marks are read. What may be a thousand (1,000; German 1.000) is none.
 */
export function numberTyped(words, language) {
  const typed = words.trim();
  const thousand = /[.,]\d{3}$/u.test(typed) && !typed.includes((0.5).toLocaleString(language)[1]);
  return /^-?\d+([.,]\d+)?$/u.test(typed) && !thousand ? Number(typed.replace(",", ".")) : NaN;
}

/** A bar of so many hundredths, with its name and its number beside it. */
export function bar(name, share, shown, kind = "") {
  const filled = element("span", { class: `filled ${kind}`.trim() });
  filled.style.inlineSize = `${Math.min(100, Math.max(0, 100 * share))}%`;
  return element(
    "li",
    { class: "bar" },
    element("span", { class: "name", dir: "auto" }, name),
    element("span", { class: "track", "aria-hidden": "true" }, filled),
    element("span", { class: "number" }, shown),
  );
}
