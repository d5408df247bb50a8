/*
 * The hash slot of a key in Redis Cluster: CRC-16/XMODEM (polynomial 0x1021), modulo 16,384, of the
 * text between the first brace and its closing brace, or of the whole key. Source: the Redis Cluster
 * specification.
 */

/** The number of slots of a cluster. */
export const SLOTS = 16_384;

const encoder: TextEncoder = new TextEncoder();
const table: Uint16Array = crcTable();

/** The slot of a key: 0 to 16,383. */
export function hashSlot(key: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashed(key))) {
    crc = (crc << 8 & 0xffff) ^ table[crc >> 8 ^ byte]!;
  }
  return crc % SLOTS;
}

/** The part of a key that is hashed. */
function hashed(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close);
}

/** The effect of each byte on the sum. */
function crcTable(): Uint16Array {
  return Uint16Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    return crc;
  });
}
