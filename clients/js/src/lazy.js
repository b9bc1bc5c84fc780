// What only some surveys need is loaded when one does. On the answer page the browser first checks
// the bytes of every such file, as index.html names them: an import cannot say what they must be.

const NAMED = 'link[rel="lazy"]';

function checked(link) {
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => reject(new Error("a file of the page is not what it should be"));
    link.rel = "modulepreload"; // from now on the browser knows it
  });
}

let loaded = null;

/** The module of verified cards. */
export function loadVerified() {
  const named = globalThis.document?.querySelectorAll(NAMED) ?? [];
  loaded ??= Promise.all(Array.from(named, checked)).then(() => import("../verified/device.js"));
  return loaded;
}
