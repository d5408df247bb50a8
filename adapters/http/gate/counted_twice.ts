/*
 * Notices requests that pay one limit twice, because it stands before an app and before a router, or
 * was registered twice. Nobody sees that otherwise: the limit is just half as high.
 */

import type { AnyLimiter } from "../limits/limit_options.ts";

/** A unit of use that a request takes: a key of a limiter. */
export interface Charge {
  readonly limiter: AnyLimiter;
  readonly key: string;
}

/** How many requests a gate looks at. A few are enough, because all requests pass it. */
const LOOKS = 100;

/** The charges of requests, by all gates of this copy of the library. */
const charged = new WeakMap<object, Charge[]>();
/** The limiters about which the line was logged. */
const said = new WeakSet<AnyLimiter>();

/** Makes the function that logs a line, once for a limiter, if a request pays one limit a second time. */
export function twiceNotice(): (request: unknown, charges: readonly Charge[]) => void {
  let looks = LOOKS;

  return function look(request, charges) {
    if (looks === 0 || typeof request !== "object" || request === null) return;
    looks--;
    const before = charged.get(request);
    if (before === undefined) return void charged.set(request, [...charges]);
    const twice = charges.find((charge) => before.some((other) => isSame(charge, other)));
    before.push(...charges);
    if (twice === undefined || said.has(twice.limiter)) return;
    said.add(twice.limiter);
    const { limiter: { algorithm, prefix } } = twice;
    console.warn(
      `A request pays the limit ${JSON.stringify(algorithm.name)} with the prefix ` +
        `${JSON.stringify(prefix)} twice, because it passes two middlewares with this limiter: ` +
        "register it once, or give countsTwice: true if that is meant (docs/errors.md#a-request-pays-the-limit-twice)",
    );
  };
}

function isSame(one: Charge, other: Charge): boolean {
  if (one.key !== other.key) return false;
  const [{ algorithm, prefix, store }, theirs] = [one.limiter, other.limiter];
  return one.limiter === theirs ||
    (store === theirs.store && prefix === theirs.prefix && algorithm.id === theirs.algorithm.id);
}
