// What only some surveys need is loaded when one does. On the answer page the browser first checks
// the bytes of every such file, as index.html names them: an import cannot say what they must be.

function checked(link) {
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => reject(new Error("a file of the page is not what it should be"));
    link.rel = "modulepreload"; // from now on the browser knows it
  });
}

/** Check every file whose address, as index.html has it, begins so. */
function checkAll(start) {
  const named = globalThis.document?.querySelectorAll(`link[rel="lazy"][href^="${start}"]`) ?? [];
  return Promise.all(Array.from(named, checked));
}

let loaded = null;

/** The module of verified cards. */
export function loadVerified() {
  loaded ??= Promise.all(["../vendor/", "../verified/"].map(checkAll)).then(() => import("../verified/device.js"));
  return loaded;
}

/** The module of a language's texts. */
export async function loadTexts(language) {
  await checkAll(`../texts/${language}.js`);
  return import(`../texts/${language}.js`);
}
