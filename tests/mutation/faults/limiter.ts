import type { Fault } from "../fault.ts";

const LIMITER = "core/limiter.ts";
const LINE = "core/waiting_line.ts";

/** Faults of the limiter and of waiting for one's turn. */
export const LIMITER_FAULTS: readonly Fault[] = [
  {
    what: "`peek` takes",
    file: LIMITER,
    search: 'requireCost("peek", cost);\n      return decide(key, cost, true, now());',
    replace: 'requireCost("peek", cost);\n      return decide(key, cost, false, now());',
    laws: ["limiter"],
  },
  {
    what: "`refund` takes",
    file: LIMITER,
    search: "return woken(reported(decide(key, -cost, false, now()), key, -cost), key);",
    replace: "return woken(reported(decide(key, cost, false, now()), key, -cost), key);",
    laws: ["limiter"],
  },
  {
    what: "`refund` wakes nobody",
    file: LIMITER,
    search: "return woken(reported(decide(key, -cost, false, now()), key, -cost), key);",
    replace: "return reported(decide(key, -cost, false, now()), key, -cost);",
    laws: ["limiter"],
  },
  {
    what: "`reset` forgets nothing",
    file: LIMITER,
    search: "const forgotten = store.delete(nameKey(algorithm.id, key));",
    replace: "const forgotten = undefined;",
    laws: ["limiter"],
  },
  {
    what: "The limiter's clock is not asked",
    file: LIMITER,
    search: "const now = clock === undefined ? noInstant : () => checkNow(clock());",
    replace: "const now = noInstant;",
    laws: ["limiter"],
  },
  {
    what: "The last to come is the first in line",
    file: LINE,
    search: "line.waiting.push(waiter);",
    replace: "line.waiting.unshift(waiter);",
    laws: ["limiter"],
  },
  {
    what: "One who gives up stays in line, and is charged",
    file: LINE,
    search: "leave(line, waiter);\n      waiter.fail(signal!.reason);",
    replace: "waiter.fail(signal!.reason);",
    laws: ["limiter"],
  },
  {
    what: "The first in line sleeps a millisecond too long",
    file: LINE,
    search: "let sleep = retryAfter;",
    replace: "let sleep = retryAfter + 1;",
    laws: ["limiter"],
  },
  {
    what: "The delay of a queue is not waited out",
    file: LINE,
    search: "starter, decision.delay, patience.signal",
    replace: "starter, 0, patience.signal",
    laws: ["limiter"],
  },
  {
    what: "`maxWait` is checked only when the time is up",
    file: LINE,
    search: "if (projection.wait <= maxWait)",
    replace: "if (projection.wait <= Infinity)",
    laws: ["limiter"],
  },
];
