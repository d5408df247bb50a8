/*
 * HalfSipHash-1-3 with 64 bits of output, over the UTF-16 units of a string, two to a word, and its
 * length. Its key of 64 random bits is in the store's header, so that a client that chooses keys
 * cannot make them collide. The hash absorbs a family (prefix and algorithm) once, and then begins
 * each key of the family from that state.
 *
 * Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and the
 * authors' HalfSipHash.
 */

/** The state of the hash after a family's text. */
export interface HashStart {
  readonly v0: number;
  readonly v1: number;
  readonly v2: number;
  readonly v3: number;
}

/** The state of the hash before any text. */
export function hashStart(keyLow: number, keyHigh: number): HashStart {
  return { v0: keyLow, v1: keyHigh, v2: 0x6c796765 ^ keyLow, v3: 0x74656462 ^ 0xee ^ keyHigh };
}

/**
 * The fingerprint of a text that follows `start`: its low half into `out[0]`, its high half into
 * `out[1]`. Linear in the text's length.
 */
export function hashText(start: HashStart, text: string, out: Int32Array): void {
  let { v0, v1, v2, v3 } = start;
  const length = text.length;
  const even = length & ~1;
  for (let index = 0; index < even; index += 2) {
    const word = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
    v0 ^= word;
  }
  const last = (even === length ? 0 : text.charCodeAt(even)) | (length << 16);
  v3 ^= last;
  // There is one round for the last word, three for the low half, and three for the high half.
  for (let round = 0; round < 7; round++) {
    v0 = (v0 + v1) | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = (v2 + v3) | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
    if (round === 0) {
      v0 ^= last;
      v2 ^= 0xee;
    } else if (round === 3) {
      out[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
  }
  out[1] = v1 ^ v3;
}

/** The state from which the hashes of a family's keys begin. */
export function hashFamily(start: HashStart, family: string): HashStart {
  const out = new Int32Array(2);
  hashText(start, family, out);
  const [low, high] = out as unknown as readonly [number, number];
  return { v0: start.v0 ^ low, v1: start.v1 ^ high, v2: start.v2 ^ high, v3: start.v3 ^ low };
}
