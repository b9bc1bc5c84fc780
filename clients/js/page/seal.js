// The fingerprint of this page: SHA-256 of its files, as `jrr serve page --hash` prints it.
//
// It is computed by the page itself, so that it shows an honest mistake or a stale copy; somebody
// who serves another page can let it show anything. Others must compare the files.

const ROOT = new URL("..", import.meta.url);

const hex = async (bytes) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
};

/** Every file of the page: those that index.html names, and itself. */
function files() {
  const named = [...document.querySelectorAll("link[href], script[src]")];
  const addresses = named.map((node) => node.href || node.src);
  addresses.push(new URL("index.html", import.meta.url).href);
  return [...new Set(addresses)].map((address) => address.slice(ROOT.href.length)).sort();
}

export async function pageHash() {
  const lines = [];
  for (const path of files()) {
    const reply = await fetch(new URL(path, ROOT), { cache: "no-cache", credentials: "omit" });
    if (!reply.ok) throw new Error("a file of the page is missing");
    lines.push(`${await hex(await reply.arrayBuffer())}  ${path}\n`);
  }
  return hex(new TextEncoder().encode(lines.join("")));
}
