/**
 * An internet address: eight groups of 16 bits. An IPv4 address is held in its IPv6 form,
 * `::ffff:a.b.c.d`, however it was spelled, so that one client has one address.
 */
export type Address = readonly number[];

/** No address is longer, even with a zone or a port. */
const LONGEST = 64;
const BRACKETED_REGEXP = /^\[([^\]]*)\](?::(.*))?$/;
const FOUR_WITH_PORT_REGEXP = /^([\d.]+):([^:]*)$/;
const FOUR_REGEXP = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const GROUP_REGEXP = /^[\da-f]{1,4}$/i;
const ZONE_REGEXP = /^[\w.~-]+$/;
/** A number, or the name that a proxy gives to a port instead (RFC 7239, 6.2). */
const PORT_REGEXP = /^(?:\d{1,5}|_[\w.-]+)$/;

/**
 * Reads an address: IPv4, IPv6 in any spelling, with a port (`192.0.2.7:80`, `[2001:db8::1]:80`)
 * or a zone (`fe80::1%eth0`), which are dropped.
 *
 * @returns The address; `undefined` if the text is not an address. Never throws.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.length > LONGEST) return undefined;
  const [, six, port] = BRACKETED_REGEXP.exec(text) ?? [];
  if (six !== undefined) return isPort(port) ? parseSix(six) : undefined;
  const [, bare = text, ownPort] = FOUR_WITH_PORT_REGEXP.exec(text) ?? [];
  const four = isPort(ownPort) ? parseFour(bare) : undefined;
  return four === undefined ? parseSix(text) : [0, 0, 0, 0, 0, 0xffff, ...four];
}

/** Whether the address is an IPv4 address. */
export function isFour(address: Address): boolean {
  return address[5] === 0xffff && address[0] === 0 && address[1] === 0 && address[2] === 0 &&
    address[3] === 0 && address[4] === 0;
}

/** The address as text, IPv6 as RFC 5952 writes it. */
export function formatAddress(address: Address): string {
  if (isFour(address)) {
    const [high, low] = [address[6]!, address[7]!];
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  const { start, length } = longestGap(address);
  const groups = address.map((group) => group.toString(16));
  if (length < 2) return groups.join(":");
  return `${groups.slice(0, start).join(":")}::${groups.slice(start + length).join(":")}`;
}

/** The address with all bits after the first `prefix` cleared. */
export function maskAddress(address: Address, prefix: number): Address {
  return address.map((group, index) => {
    const kept = Math.min(16, Math.max(0, prefix - 16 * index));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
}

/** The two groups of an IPv4 address. A leading zero is refused: some would read it as octal. */
function parseFour(text: string): readonly [high: number, low: number] | undefined {
  const match = FOUR_REGEXP.exec(text);
  if (match === null) return undefined;
  const bytes: number[] = [];
  for (const part of match.slice(1)) {
    const byte = Number(part);
    if (byte > 255 || String(byte) !== part) return undefined;
    bytes.push(byte);
  }
  return [bytes[0]! << 8 | bytes[1]!, bytes[2]! << 8 | bytes[3]!];
}

/** Whether the text may be a port, or is absent. */
function isPort(text: string | undefined): boolean {
  return text === undefined || (PORT_REGEXP.test(text) && !(Number(text) > 65_535));
}

function parseSix(text: string): Address | undefined {
  const [address = "", zone, ...more] = text.split("%");
  if (more.length > 0 || (zone !== undefined && !ZONE_REGEXP.test(zone))) return undefined;
  const halves = address.split("::");
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0]!, halves.length === 1);
  if (halves.length === 1) return head?.length === 8 ? head : undefined;
  const tail = groupsOf(halves[1]!, true);
  if (head === undefined || tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** The groups on one side of `::`. Only the last group of an address may be in dotted form. */
function groupsOf(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const pieces = text.split(":");
  const groups: number[] = [];
  for (const [index, piece] of pieces.entries()) {
    const four = last && index === pieces.length - 1 ? parseFour(piece) : undefined;
    if (four !== undefined) groups.push(...four);
    else if (GROUP_REGEXP.test(piece)) groups.push(parseInt(piece, 16));
    else return undefined;
  }
  return groups;
}

/** The longest run of zero groups; the first of several. */
function longestGap(address: Address): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (let index = 0; index <= 8; index++) {
    if (address[index] === 0) continue;
    if (index - start > longest.length) longest = { start, length: index - start };
    start = index + 1;
  }
  return longest;
}
