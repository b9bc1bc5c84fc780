// Where a device keeps what must not be made twice: its secrets and finished reports.
//
// A storage has six acts, all asynchronous, on texts:
//   get(key)         what is kept, or undefined
//   list(prefix)     every value whose key begins so
//   add(key, value)  keep it unless something is kept; resolves to what is kept now
//   put(key, value)  keep it, whatever was there
//   remove(key)      keep nothing there
//   addChecked(prefix, key, value, check)
//                    as add, unless check(list(prefix)) throws; nobody else writes meanwhile

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

  async remove(key) {
    this.#kept.delete(key);
  }

  async list(prefix) {
    return [...this.#kept].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value);
  }

  async addChecked(prefix, key, value, check) {
    const kept = [...this.#kept].filter(([name]) => name.startsWith(prefix));
    if (!this.#kept.has(key)) check(kept.map(([, entry]) => entry));
    return this.add(key, value);
  }
}

const STORE = "kept";

const finished = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const beginning = (prefix) => IDBKeyRange.bound(prefix, `${prefix}\uffff`);

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
    const worked = work(transaction.objectStore(STORE)).catch((error) => {
      transaction.abort(); // whatever was written in it is taken back
      throw error;
    });
    const [result] = await Promise.all([worked, done]);
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

  remove(key) {
    return this.#act("readwrite", (store) => finished(store.delete(key)));
  }

  list(prefix) {
    return this.#act("readonly", (store) => finished(store.getAll(beginning(prefix))));
  }

  addChecked(prefix, key, value, check) {
    return this.#act("readwrite", async (store) => {
      const before = await finished(store.get(key));
      if (before !== undefined) return before;
      check(await finished(store.getAll(beginning(prefix))));
      store.put(value, key);
      return value;
    });
  }
}
