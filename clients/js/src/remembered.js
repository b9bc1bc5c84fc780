/** The function, which computes once what follows from a mechanism's parameters. */
export function remembered(compute) {
  const found = new WeakMap();
  return (mechanism) => {
    if (!found.has(mechanism)) found.set(mechanism, compute(mechanism));
    return found.get(mechanism);
  };
}
