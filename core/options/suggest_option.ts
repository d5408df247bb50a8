/*
 * Finds the option that an unknown name may mean: the name with the most similar spelling, or the
 * option that other libraries call by that name.
 */

/** Names that other libraries give to the options here. The first option that is known counts. */
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
  zone: "timezone tz",
  onRefused: "handler requestwaslimited",
  period:
    "duration expiry interval intervalms refillinterval timewindow window windowms windowsize",
  prefix: "keyprefix namespace",
};

/** The option that an unknown name probably means; `undefined` if no option is near. */
export function suggestOption(unknown: string, known: readonly string[]): string | undefined {
  const name = unknown.toLowerCase();
  for (const [option, names] of Object.entries(FOREIGN_NAMES)) {
    if (known.includes(option) && names.split(" ").includes(name)) return option;
  }
  const farthest = Math.min(Math.max(1, Math.floor(name.length / 3)), 3);
  for (let changes = 0; changes <= farthest; changes++) {
    const near = known.find((option) => isNear(name.slice(0, 40), option.toLowerCase(), changes));
    if (near !== undefined) return near;
  }
  return undefined;
}

/** The end of a message about an unknown name: the known name that it resembles, if any. */
export function hintAt(name: string, known: readonly string[], prefix: string = ""): string {
  const meant = suggestOption(name, known);
  return meant === undefined ? "" : `: did you mean ${prefix}${meant}?`;
}

/** Whether two names differ in at most so many letters. Two swapped letters count as one. */
export function isNear(one: string, other: string, changes: number): boolean {
  if (one === "" || other === "") return one.length + other.length <= changes;
  const [rest, others] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return isNear(rest, others, changes);
  const isSwapped = one[0] === other[1] && one[1] === other[0];
  return changes > 0 && (isNear(rest, other, changes - 1) || isNear(one, others, changes - 1) ||
    isNear(rest, others, changes - 1) ||
    isSwapped && isNear(one.slice(2), other.slice(2), changes - 1));
}
