/*
 * Notices requests that pay one limit twice, because it stands before an app and before a router, or
 * was registered twice. Nobody sees that otherwise: the limit is just half as high.
 */

import type { LimiterInternals } from "../../../core/limiter/limiter_internals.ts";
import { isSameKey } from "../../../core/repeated_operation.ts";
import type { Ask } from "../../../core/together/ask.ts";

/** A unit of use that a request takes: a key of a limiter. */
export type Charge = Ask<LimiterInternals>;

/** How many requests a gate looks at. A few are enough, because all requests pass it. */
const LOOKS = 100;

/** The charges of requests, by all gates of this copy of the library. */
const charged = new WeakMap<object, Charge[]>();
/** The limiters about which the line was logged. */
const said = new WeakSet<LimiterInternals>();

/**
 * Logs a line, once for a limiter, if a request pays one limit a second time: call `look` with requests
 * while `looks` are left.
 */
export function twiceNotice(isMeant: boolean): {
  looks: number;
  readonly look: (request: unknown, charges: readonly Charge[]) => void;
} {
  const notice = {
    looks: isMeant ? 0 : LOOKS,
    look(request: unknown, charges: readonly Charge[]): void {
      if (typeof request !== "object" || request === null) return;
      notice.looks--;
      const before = charged.get(request);
      if (before === undefined) return void charged.set(request, [...charges]);
      const twice = charges.find((charge) => before.some((other) => isSame(charge, other)));
      before.push(...charges);
      if (twice === undefined || said.has(twice.counter)) return;
      said.add(twice.counter);
      const { prefix, algorithm } = twice.bound.family.spec;
      console.warn(
        `A request pays the limit ${JSON.stringify(algorithm.name)} with the prefix ` +
          `${JSON.stringify(prefix)} twice, because it passes two middlewares with this limiter: ` +
          "register it once, or give countsTwice: true if that is meant (docs/errors.md#a-request-pays-the-limit-twice)",
      );
    },
  };
  return notice;
}

function isSame(one: Charge, other: Charge): boolean {
  return one.counter.store === other.counter.store && isSameKey(one, other);
}
