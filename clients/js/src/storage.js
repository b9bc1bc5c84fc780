// Where a device keeps what must not be made twice: its secrets and finished reports.
//
// A storage has three acts, all asynchronous, on texts:
//   get(key)         what is kept, or undefined
//   add(key, value)  keep it unless something is kept; resolves to what is kept now
//   put(key, value)  keep it, whatever was there

/** For tests and programs that need not survive a restart. */
export class MemoryStorage {
  #kept = new Map();

  async get(key) {
    return this.#kept.get(key);
  }

  async add(key, value) {
    if (!this.#kept.has(key)) this.#kept.set(key, value);
    return this.#kept.get(key);
  }

  async put(key, value) {
    this.#kept.set(key, value);
  }
}

const STORE = "kept";

const finished = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Of a browser; survives a closed tab. Two tabs that add at once end up with the same value. */
export class IndexedDbStorage {
  #database;

  constructor(name = "jrr") {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    this.#database = finished(request);
    this.#database.catch(() => {}); // told to whoever uses it
  }

  async #act(mode, work) {
    // Strict: on the disk before anything is sent that depends on it.
    const transaction = (await this.#database).transaction(STORE, mode, { durability: "strict" });
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
    const [result] = await Promise.all([work(transaction.objectStore(STORE)), done]);
    return result;
  }

  get(key) {
    return this.#act("readonly", (store) => finished(store.get(key)));
  }

  add(key, value) {
    return this.#act("readwrite", async (store) => {
      const before = await finished(store.get(key));
      if (before !== undefined) return before;
      store.put(value, key);
      return value;
    });
  }

  put(key, value) {
    return this.#act("readwrite", (store) => finished(store.put(value, key)));
  }
}
