/*
 * Which option an unknown one may have been meant as: the nearest by its letters, or what other
 * libraries call by that name.
 */

const PERIOD = ["period"];
const LIMIT = ["limit"];

/** Names in other libraries, and the options here that come nearest; the first one known counts. */
const FOREIGN_NAMES: Readonly<Record<string, readonly string[]>> = {
  blockduration: ["lock"],
  blocktime: ["lock"],
  capacity: ["burst", "maxKeys", "limit"],
  duration: PERIOD,
  expiry: ["ttl", ...PERIOD],
  filltokens: LIMIT,
  handler: ["onRefused"],
  identifier: ["key"],
  interval: PERIOD,
  intervalms: PERIOD,
  keygenerator: ["key"],
  keyprefix: ["prefix"],
  legacyheaders: ["headers"],
  max: ["limit", "maxKeys", "capacity"],
  maxentries: ["maxKeys", "capacity"],
  maxrequests: LIMIT,
  maxtokens: ["burst", "limit"],
  namespace: ["prefix"],
  points: ["limit", "cost"],
  rate: LIMIT,
  refillinterval: PERIOD,
  refillrate: LIMIT,
  requestwaslimited: ["onRefused"],
  size: ["maxKeys", "capacity"],
  standardheaders: ["headers"],
  timeout: ["maxWait", "deadline"],
  timewindow: PERIOD,
  tokens: ["cost", "limit"],
  tokensperinterval: LIMIT,
  weight: ["cost"],
  window: PERIOD,
  windowms: PERIOD,
  windowsize: PERIOD,
};

/** The option that an unknown one was probably meant as; `undefined` if none comes near. */
export function suggestOption(unknown: string, known: readonly string[]): string | undefined {
  const name = unknown.toLowerCase();
  const foreign = Object.hasOwn(FOREIGN_NAMES, name) ? FOREIGN_NAMES[name]! : [];
  const meant = foreign.find((option) => known.includes(option));
  if (meant !== undefined) return meant;
  const farthest = Math.max(1, Math.floor(name.length / 3));
  let nearest: string | undefined;
  let least = Math.min(farthest, 3) + 1;
  for (const option of known) {
    const distance = editDistance(name.slice(0, 40), option.toLowerCase());
    if (distance < least) [least, nearest] = [distance, option];
  }
  return nearest;
}

/** How many letters differ; two that have changed places count as one. */
function editDistance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      let least = Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] &&
        one[row - 2] === other[column - 1];
      if (swapped) least = Math.min(least, before[column - 2]! + 1);
      current.push(least);
    }
    [before, last] = [last, current];
  }
  return last[other.length]!;
}
