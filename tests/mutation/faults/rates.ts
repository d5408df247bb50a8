import { type Fault, faultsIn } from "../fault.ts";

/** Faults of GCRA, the buckets and the queue. */
export const RATE_FAULTS: readonly Fault[] = [
  ...faultsIn("core/arithmetic/whole_arrival_time.ts", ["gcra"], {
    "`<` for `<=`: the last unit of a burst is refused":
      "return next - tick <{~~=~>~~} tolerance ? next : tat;",
    "A clock that mints: idle time counts beyond the burst":
      "const next = {~~(tat > tick ? tat : tick)~>tat~~} + cost * interval;",
    "Each call counts from now, and forgets those before it":
      "const next = {~~(tat > tick ? tat : tick)~>tick~~} + cost * interval;",
    "A refund of more than can be in use, seen from a clock that stepped back":
      "const earlier = tat - {~~(units < mostUse ? units : mostUse)~>units~~} * interval;",
    "`retryAfter` rounded down: a millisecond too early":
      "{~~ceilDiv(cost * interval - room,~>Math.floor((cost * interval - room) /~~} perMillisecond)",
    "`nextAfter` rounded down":
      "{~~ceilDiv((remaining + 1) * interval - room,~>Math.floor(((remaining + 1) * interval - room) /~~} perMillisecond)",
    "`resetAfter` rounded to the nearest":
      "{~~ceilDiv(capacity * interval - room,~>Math.round((capacity * interval - room) /~~} perMillisecond),",
    "A cost above the burst is promised for later":
      "cost > capacity ? {~~Infinity~>ceilDiv(capacity * interval - room, perMillisecond)~~} : ceilDiv(",
  }),
  ...faultsIn("core/arithmetic/whole_arrival_time.ts", ["leakyBucket"], {
    "A lost refund":
      "const earlier = tat{~~ - (units < mostUse ? units : mostUse) * interval~>~~};",
    "A refund that gives back one unit too many":
      "const earlier = tat - ({~~units < mostUse ? units : mostUse~>(units < mostUse ? units : mostUse) + 1~~}) * interval;",
  }),
  ...faultsIn("core/arithmetic/whole_arrival_time.ts", ["tokenBucket"], {
    "A key with no use left that is not the fresh one":
      "return earlier{~~ > tick ? earlier : 0~>~~};",
  }),
  ...faultsIn("core/arithmetic/whole_arrival_time.ts", ["leakyQueue"], {
    "A call of the queue starts before its place: the delay rounded down":
      "delay > 0 ? {~~ceilDiv(delay,~>Math.floor(delay /~~} perMillisecond) : 0",
    "A call of the queue starts when its last place does, not its first":
      "queue > 0 && allowed && cost > 0 ? {~~tat~>next - interval~~} - tick - startsAtOnce : 0",
  }),
  ...faultsIn("core/algorithms/leaky_queue.ts", ["leakyQueue"], {
    "The queue holds one call too many": "capacity: queue + {~~burst~>burst + 1~~},",
  }),
  ...faultsIn("core/algorithms/arrival_time_algorithm.ts", ["gcra"], {
    "A float: the emission interval in milliseconds":
      "const divisor = {~~greatestCommonDivisor(limit, period)~>limit~~};",
  }),
  ...faultsIn("core/arithmetic/ticks.ts", ["tokenBucket"], {
    "Instants of two numbers kept as one, past what floats hold":
      "return perMillisecond {~~* LAST_INSTANT + furthest < 2 ** 53~>> 0~~};",
  }),
  ...faultsIn("core/algorithms/build_algorithm.ts", ["tokenBucketByInterval"], {
    "`<` for `<=`: a cost of all that is left is refused":
      "cost <{~~=~>~~} free(state, now) ? add(",
  }),
  ...faultsIn("core/arithmetic/arrival_time.ts", ["tokenBucketByInterval"], {
    "A refund of all use that leaves a used key": "return decrement <{~~~>=~~} ahead(tat, now) ?",
  }),
  ...faultsIn("core/arithmetic/ticks.ts", ["gcra"], {
    "A carry that is lost where two numbers are added":
      "? { millisecond: millisecond + whole{~~ + 1~>~~}, ticks: beyond - (perMillisecond - rest) }",
    "A borrow that is lost where two numbers are subtracted":
      ": { millisecond: at.millisecond - whole{~~ - 1~>~~}, ticks:",
    "A wait rounded down where instants are two numbers":
      "at.millisecond + {~~Math.ceil~>Math.floor~~}((at.ticks - ticks) / perMillisecond)",
  }),
  ...faultsIn("core/arithmetic/ticks.ts", ["tokenBucketByInterval"], {
    "A bucket that is refilled half a period early":
      "const ticks = at - {~~Math.floor~>Math.round~~}(now / step) * perStep;",
  }),
  ...faultsIn("core/algorithms/token_bucket.ts", ["tokenBucketByInterval"], {
    "A bucket that is refilled by one token less":
      "const scale = wholeTicks({~~limit~>Math.max(1, limit - 1)~~}, period);",
  }),
  ...faultsIn("core/algorithms/build_algorithm.ts", ["leakyQueue"], {
    "A look that waits": "allowed {~~&& cost > 0 ~>~~}? delay(state, now) : 0",
  }),
  ...faultsIn("core/options/checks.ts", ["slidingCounter"], {
    "A fraction of a millisecond that counts": "return {~~Math.floor(now) + 0~>now~~};",
  }),
  ...faultsIn("core/options/checks.ts", ["gcra"], {
    "A negative `now` is taken": "!(now {~~>= 0 && now ~>~~}<= LAST_INSTANT)",
    "`NaN` is taken for an instant": [
      "!(now >= 0 && now <= LAST_INSTANT)",
      "now < 0 || now > LAST_INSTANT",
    ],
    "Half a unit is taken for a cost":
      "if ({~~Number.isSafeInteger~>Number.isFinite~~}(cost) && cost >= least) return;",
  }),
];
