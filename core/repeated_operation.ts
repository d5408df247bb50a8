import type { Operation } from "./store.ts";

/**
 * For up to this many operations, comparing each pair is faster than building text for the keys.
 */
const FEW = 8;

/** The first operation whose key an earlier operation already uses; `undefined` if all keys differ. */
export function repeatedOperation(operations: readonly Operation[]): Operation | undefined {
  if (operations.length > FEW) return repeatedName(operations);
  for (let index = 1; index < operations.length; index++) {
    for (let before = 0; before < index; before++) {
      if (isSameKey(operations[index]!, operations[before]!)) return operations[index];
    }
  }
  return undefined;
}

/** Whether two operations on one store are on the same stored key. */
export function isSameKey(one: Operation, other: Operation): boolean {
  if (one.key !== other.key) return false;
  const { prefix, algorithm } = one.bound.family.spec;
  const { prefix: otherPrefix, algorithm: otherAlgorithm } = other.bound.family.spec;
  return prefix === otherPrefix && algorithm.id === otherAlgorithm.id;
}

function repeatedName(operations: readonly Operation[]): Operation | undefined {
  const names = new Set<string>();
  return operations.find(({ bound: { family }, key }) => {
    const name = family.nameOf(key);
    return names.size === names.add(name).size;
  });
}
