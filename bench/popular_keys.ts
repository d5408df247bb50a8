import { shuffled } from "./measure.ts";

/** Keys in an order without a pattern, the same for every variant. */
export function keysOf(count: number): string[] {
  return shuffled(Array.from({ length: count }, (_, index) => `user:${1_000_000 + index}`));
}

/**
 * Keys as they come in traffic, by Zipf's law: the second one half as often as the first, and so
 * on.
 */
export function popularKeys(count: number, calls: number): string[] {
  const keys = keysOf(count);
  const sums = new Float64Array(count);
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sums[rank - 1] = sum += 1 / rank;
  let seed = 7;
  return Array.from({ length: calls }, () => {
    seed = Math.imul(seed, 1_664_525) + 1_013_904_223 >>> 0;
    const drawn = seed / 2 ** 32 * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sums[middle]! < drawn) low = middle + 1;
      else high = middle;
    }
    return keys[low]!;
  });
}
