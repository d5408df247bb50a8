import type { Fault } from "../fault.ts";

const BUILD = "core/algorithms/build_algorithm.ts";
const FIXED = "core/algorithms/fixed_window.ts";
const SLOTS = "core/algorithms/timeline_algorithm.ts";
const COUNTER = "core/algorithms/sliding_counter.ts";
const TIMELINE = "core/timeline/counted_timeline.ts";

/** Faults of windows, logs and counters. */
export const WINDOW_FAULTS: readonly Fault[] = [
  {
    what: "A charge beyond the limit is lost",
    file: BUILD,
    search: "Math.min(cost, maxDebt + free(state, now));",
    replace: "Math.min(cost, free(state, now));",
    laws: ["fixedWindow"],
  },
  {
    what: "A charge that is not cut at the bound",
    file: BUILD,
    search: "Math.min(cost, maxDebt + free(state, now));",
    replace: "cost;",
    laws: ["slidingWindow"],
  },
  {
    what: "Debt that nobody is shown",
    file: BUILD,
    search: "units < 0 ? Math.min(-units, maxDebt) : 0,",
    replace: "0,",
    laws: ["slidingCounter"],
  },
  {
    what: "A clock that mints: a step back opens an earlier window anew",
    file: FIXED,
    search: "return index > place ? index : place;",
    replace: "return index;",
    laws: ["fixedWindow"],
  },
  {
    what: "A clock that mints: a step back before the first call opens another window",
    file: FIXED,
    search: "now < place + period ? place : now",
    replace: "now >= place && now < place + period ? place : now",
    laws: ["fixedWindow"],
  },
  {
    what: "A window from the first call that lasts a millisecond too long",
    file: FIXED,
    search: "now < place + period ? place : now",
    replace: "now <= place + period ? place : now",
    laws: ["fixedWindow"],
  },
  {
    what: "A time zone of the wrong sign",
    file: FIXED,
    search: "const offset = (period - shift) % period;",
    replace: "const offset = shift;",
    laws: ["fixedWindow"],
  },
  {
    what: "A refund of all use that leaves a window of 0",
    file: FIXED,
    search: "return units < count ? of(",
    replace: "return units <= count ? of(",
    laws: ["fixedWindow"],
  },
  {
    what: "A full window that reads as the next one, empty",
    file: "core/arithmetic/window_use.ts",
    search: "const place = (use: number) => use === 0 ? -Infinity : Math.floor((use - 1) / most);",
    replace: "const place = (use: number) => use === 0 ? -Infinity : Math.floor(use / most);",
    laws: ["fixedWindow"],
  },
  {
    what: "An off-by-one in a window: one sub-bucket too many",
    file: SLOTS,
    search: "const oldest = slot - slots + 1;",
    replace: "const oldest = slot - slots;",
    laws: ["slidingWindow"],
  },
  {
    what: "An off-by-one in a log: its oldest millisecond is forgotten",
    file: SLOTS,
    search: "const oldest = slot - slots + 1;",
    replace: "const oldest = slot - slots + 2;",
    laws: ["slidingLog"],
  },
  {
    what: "A clock that mints: a step back decides in an earlier sub-bucket",
    file: SLOTS,
    search: "return slot > timeline.newest ? slot : timeline.newest;",
    replace: "return slot;",
    laws: ["slidingWindow"],
  },
  {
    what: "`retryAfter` of a window a millisecond too early",
    file: SLOTS,
    search: "const wait = (slot + slots) * precision - now;",
    replace: "const wait = (slot + slots) * precision - now - 1;",
    laws: ["slidingWindow"],
  },
  {
    what: "`retryAfter` waits for one unit too many to leave",
    file: SLOTS,
    search: "untilGone(timeline.leaves(limit - cost), now)",
    replace: "untilGone(timeline.leaves(Math.max(0, limit - cost - 1)), now)",
    laws: ["slidingLog"],
  },
  {
    what: "A log that gives back more than is held",
    file: SLOTS,
    search: "return units < used(timeline, now) ? timeline.takeBack(units) : timeline.none();",
    replace: "return units < used(timeline, now) ? timeline.takeBack(units) : timeline;",
    laws: ["slidingLog"],
  },
  {
    what: "Units that are all of one log's use are taken for the next older ones",
    file: TIMELINE,
    search: "if (passed <= this.#base) return -Infinity;",
    replace: "if (passed < this.#base) return -Infinity;",
    laws: ["slidingLog"],
  },
  {
    what: "A log that changes under an older version of it",
    file: TIMELINE,
    search: "} else if (tape[place] !== this.newest || tape[place + 1] !== this.#total) {",
    replace: "} else if (place < 0) {",
    laws: ["slidingLog"],
  },
  {
    what: "A copied log whose totals are not counted from 0",
    file: TIMELINE,
    search: "for (let place = 1; place < tape.length; place += 2) tape[place]! -= base;",
    replace: "",
    laws: ["slidingLog"],
  },
  {
    what: "A log that takes back from the oldest bucket first",
    file: TIMELINE,
    search: "const newest = bucket === this.#tail ? this.newest : this.#tape[2 * bucket]!;",
    replace: "const newest = this.newest;",
    laws: ["slidingLog"],
  },
  {
    what: "A fading count rounded in the caller's favour",
    file: COUNTER,
    search: "return Math.ceil(previous * left(window, now, period) / period);",
    replace: "return Math.floor(previous * left(window, now, period) / period);",
    laws: ["slidingCounter"],
  },
  {
    what: "A float: the weight of the window before, rounded",
    file: COUNTER,
    search: "return Math.ceil(previous * left(window, now, period) / period);",
    replace: "return Math.ceil(previous * (1 - (now % period) / period));",
    laws: ["slidingCounter"],
  },
  {
    what: "A count that never fades out after two windows",
    file: COUNTER,
    search: "previous: window === state.window + 1 ? state.current : 0,",
    replace: "previous: state.current,",
    laws: ["slidingCounter"],
  },
  {
    what: "A clock that mints: a step back leads out of the latest window",
    file: COUNTER,
    search: "if (window <= state.window) return state;",
    replace: "if (window === state.window) return state;",
    laws: ["slidingCounter"],
  },
  {
    what: "A step back that weighs the window before as more than all of it",
    file: COUNTER,
    search: "return elapsed > 0 ? period - elapsed : period;",
    replace: "return period - elapsed;",
    laws: ["slidingCounter"],
  },
];
