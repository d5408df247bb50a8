import { type Fault, faultsIn } from "../fault.ts";

/** Faults of windows, logs and counters. */
export const WINDOW_FAULTS: readonly Fault[] = [
  ...faultsIn("core/algorithms/build_algorithm.ts", ["slidingWindow"], {
    "A charge beyond the limit is lost": "Math.min(cost, {~~maxDebt + ~>~~}free(state, now));",
    "A charge that is not cut at the bound": [
      "Math.min(cost, maxDebt + free(state, now));",
      "cost;",
    ],
    "Debt that nobody is shown": ["units < 0 ? Math.min(-units, maxDebt) : 0,", "0,"],
  }),
  ...faultsIn("core/algorithms/lockout.ts", ["lockout"], {
    "A charge that begins the lock anew":
      "const fills = {~~held.tries < limit && ~>~~}tries >= limit;",
    "A lock that begins with the first try, not with the last":
      "locked: fills ? {~~Math.max(now, opened)~>opened~~} : held.locked",
    "A try given back that leaves the key locked": ["locked: left < limit ? -1 : locked", "locked"],
  }),
  ...faultsIn("core/algorithms/fixed_window.ts", ["fixedWindow"], {
    "A clock that mints: a step back opens an earlier window anew":
      "return index{~~ > place ? index : place~>~~};",
    "A clock that mints: a step back before the first call opens another window":
      "now {~~~>>= place && now ~~}< place + period ? place : now",
    "A window from the first call that lasts a millisecond too long":
      "now <{~~~>=~~} place + period ? place : now",
    "A time zone of the wrong sign": "const offset = {~~(period - shift) % period~>shift~~};",
    "A refund of all use that leaves a window of 0": "return units <{~~~>=~~} count ? of(",
  }),
  ...faultsIn("core/arithmetic/window_use.ts", ["tests/core/algorithms/edges.test.ts"], {
    "A full window that reads as the next one, empty":
      "return use === NO_USE ? -Infinity : Math.floor({~~(use - 1)~>use~~} / most);",
  }),
  ...faultsIn("core/algorithms/timeline_algorithm.ts", ["slidingWindow"], {
    "An off-by-one in a window: one sub-bucket too many":
      "timeline.since(bucketAt(timeline, now) - span{~~ + 1~>~~})",
    "A clock that mints: a step back decides in an earlier sub-bucket":
      "return bucket{~~ > timeline.newest ? bucket : timeline.newest~>~~};",
    "`retryAfter` of a window a millisecond too early":
      "const wait = (bucket + span) * precision - now{~~~> - 1~~};",
  }),
  ...faultsIn("core/algorithms/timeline_algorithm.ts", ["slidingLog"], {
    "An off-by-one in a log: its oldest millisecond is forgotten":
      "timeline.since(bucketAt(timeline, now) - span + {~~1~>2~~})",
    "`retryAfter` waits for one unit too many to leave":
      "untilGone(timeline.leaves({~~limit - cost~>Math.max(0, limit - cost - 1)~~}), now)",
    "A log that gives back more than is held":
      "return units < used(timeline, now) ? timeline.takeBack(units) : {~~timeline.none()~>timeline~~};",
  }),
  ...faultsIn("core/timeline/counted_timeline.ts", ["slidingLog"], {
    "Units that are all of one log's use are taken for the next older ones":
      "if (passed <{~~=~>~~} this.#base) return -Infinity;",
    "A log that changes under an older version of it":
      "} else if ({~~tape[index] !== this.newest || tape[index + 1] !== this.#total~>index < 0~~}) {",
    "A copied log whose totals are not counted from 0": [
      "for (let index = 1; index < tape.length; index += 2) tape[index]! -= base;",
      "",
    ],
    "A log that takes back from the oldest bucket first":
      "const newest = {~~entry === this.#tail ? this.newest : this.#tape[2 * entry]!~>this.newest~~};",
  }),
  ...faultsIn("core/algorithms/sliding_counter.ts", ["slidingCounter"], {
    "A fading count rounded in the caller's favour":
      "return {~~Math.ceil~>Math.floor~~}(previous * left(window, now, period) / period);",
    "A float: the weight of the window before, rounded":
      "return Math.ceil(previous * {~~left(window, now, period) / period~>(1 - (now % period) / period)~~});",
    "A count that never fades out after two windows":
      "previous: {~~window === state.window + 1 ? state.current : 0~>state.current~~},",
    "A clock that mints: a step back leads out of the latest window":
      "if (window {~~<~>==~~}= state.window) return state;",
    "A step back that weighs the window before as more than all of it":
      "return {~~elapsed > 0 ? period - elapsed : period~>period - elapsed~~};",
  }),
];
