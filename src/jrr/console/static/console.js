// What the console's pages do by themselves: counts that follow, results that come later, files
// that are read into a form. Without it every page still works; one reloads it by hand.
"use strict";

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("jrr", { createHTML: (html) => html })
  : { createHTML: (html) => html };

/** Put a part of a page, made by the server, in its place. */
async function load(place) {
  const reply = await fetch(place.dataset.fragment, { redirect: "error" });
  if (!reply.ok) return;
  place.innerHTML = policy.createHTML(await reply.text());
}

for (const place of document.querySelectorAll("[data-fragment]")) {
  if (!("snapshot" in place.dataset) || place.dataset.snapshot === "0") load(place);
}

for (const root of document.querySelectorAll("[data-events]")) {
  const events = new EventSource(root.dataset.events);
  const results = root.querySelector("[data-fragment]");
  let loading = false;
  events.addEventListener("over", () => events.close());
  events.addEventListener("message", async (event) => {
    const facts = JSON.parse(event.data);
    const state = document.querySelector("[data-live=state]");
    if (state && state.textContent !== facts.state) return location.reload();
    for (const node of document.querySelectorAll("[data-live]")) {
      const words = facts[node.dataset.live];
      if ((words || "empties" in node.dataset) && node.textContent !== words) node.textContent = words;
    }
    for (const node of root.querySelectorAll("[data-live-value]")) {
      node.value = facts[node.dataset.liveValue];
    }
    if (results && !loading && facts.snapshot && String(facts.snapshot) !== results.dataset.snapshot) {
      loading = true;
      results.dataset.snapshot = facts.snapshot;
      await load(results).finally(() => (loading = false));
    }
  });
}

/** Of a table of invitations these and which are spare: names of one's own stay in this browser. */
function invitationsOf(text) {
  const found = new Map();
  for (const line of text.split(/[\r\n]+/u)) {
    const kind = /[,;\t]"?spare"?\s*$/u.test(line) ? "spare" : "";
    for (const one of line.match(/\b[a-z2-7]{34}\b/gu) ?? []) found.set(one, kind);
  }
  return ["invitation,spare", ...[...found].map((row) => row.join())].join("\n");
}

// What is pasted goes the same way as a file, at the latest when it is sent: where it holds no
// invitation it may be a list of names alone, and the server refuses what is left.
for (const field of document.querySelectorAll("textarea[data-own]")) {
  const strip = () => field.value.trim() && (field.value = invitationsOf(field.value));
  field.addEventListener("change", strip);
  field.form.addEventListener("submit", strip);
}

// A file that is chosen is read into the text field beside it.
for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    const field = document.getElementById(input.dataset.into);
    if ("picture" in input.dataset) {
      const bytes = new Uint8Array(await input.files[0].arrayBuffer());
      field.value = bytes.length > 18_000 ? "too large" : btoa(String.fromCharCode(...bytes));
    } else {
      const text = await input.files[0].text();
      field.value = "own" in input.dataset ? invitationsOf(text) : text;
    }
    field.dispatchEvent(new Event("change", { bubbles: true })); // kept at once, where the form does so
  });
}

// A form whose answer is a file: save it, then show the page anew, which says what was done. What
// is refused is sent once more as usual, so that its page is shown.
for (const form of document.querySelectorAll("form[data-file]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    const body = new URLSearchParams(new FormData(form));
    const reply = await fetch(form.action, { method: "POST", body, redirect: "error" }).catch(() => null);
    const name = reply?.ok && reply.headers.get("content-disposition")?.match(/filename="([^"]+)"/);
    if (!name) return form.submit();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await reply.blob());
    link.download = name[1];
    link.click();
    const soon = setTimeout(() => location.reload(), 1000); // the browser has begun to save it
    addEventListener("beforeunload", () => clearTimeout(soon)); // somebody went on by themselves
  });
}

// What is written in the editor is kept at once, and the preview follows.
for (const form of document.querySelectorAll("form[data-quick]")) {
  const side = document.getElementById(form.dataset.into);
  let turn = 0;
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(keep, 700);
  });
  form.addEventListener("change", keep);
  async function keep() {
    clearTimeout(waiting);
    const mine = ++turn;
    const body = new URLSearchParams(new FormData(form));
    const reply = await fetch(form.dataset.quick, { method: "POST", body, redirect: "error" });
    if (!reply.ok || mine !== turn) return;
    const html = await reply.text();
    const frame = side.querySelector("iframe");
    const address = html.match(/<iframe[^>]* src="([^"]*)"/);
    if (frame && address) frame.contentWindow.location.replace(address[1].replaceAll("&amp;", "&"));
    else side.innerHTML = policy.createHTML(html);
  }
}
