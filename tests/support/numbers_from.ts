/** Numbers from 0 to below 1, the same ones of the same seed. */
export function numbersFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 0;
  // Source: T. Ettinger, mulberry32.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
