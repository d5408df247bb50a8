/*
 * Which option an unknown one may have been meant as: the nearest by its letters, or what other
 * libraries call by that name.
 */

/** What other libraries call the options here; the first one known counts. */
const FOREIGN_NAMES: Readonly<Record<string, string>> = {
  burst: "capacity maxtokens",
  ttl: "expiry",
  maxKeys: "capacity max maxentries size",
  maxWait: "timeout",
  limit:
    "capacity filltokens max maxrequests maxtokens points rate refillrate tokens tokensperinterval",
  capacity: "max maxentries size",
  cost: "points tokens weight",
  deadline: "timeout",
  headers: "legacyheaders standardheaders",
  key: "identifier keygenerator",
  lock: "blockduration blocktime",
  onRefused: "handler requestwaslimited",
  period:
    "duration expiry interval intervalms refillinterval timewindow window windowms windowsize",
  prefix: "keyprefix namespace",
};

/** The option that an unknown one was probably meant as; `undefined` if none comes near. */
export function suggestOption(unknown: string, known: readonly string[]): string | undefined {
  const name = unknown.toLowerCase();
  for (const [option, names] of Object.entries(FOREIGN_NAMES)) {
    if (known.includes(option) && names.split(" ").includes(name)) return option;
  }
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
  const rows = [Array.from({ length: other.length + 1 }, (_, place) => place)];
  for (let row = 1; row <= one.length; row++) {
    const last = rows[row - 1]!;
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current.push(Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (same ? 0 : 1),
        swapped ? rows[row - 2]![column - 2]! + 1 : Infinity,
      ));
    }
    rows.push(current);
  }
  return rows.at(-1)!.at(-1)!;
}
