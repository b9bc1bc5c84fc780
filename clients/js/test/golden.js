// Vectors that the Python package wrote; they lie in its tests, beside this folder's repository.

import { readFileSync } from "node:fs";

export function golden(name) {
  const path = new URL(`../../../tests/golden/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8"));
}
