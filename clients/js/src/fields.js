// What fields of a mechanism may be.

export function isReal(value, low, high) {
  return typeof value === "number" && value >= low && value <= high;
}
export function isProbability(value) {
  return isReal(value, 0, 1);
}
export function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
export function isPeople(value) {
  return isCount(value) && value >= 2;
}
export function isDomain(value) {
  return isCount(value) && value >= 2;
}
export function isDeck(value) {
  return Array.isArray(value) && value.every(isCount);
}
