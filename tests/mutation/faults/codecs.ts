import type { Fault } from "../fault.ts";

const TICKS = "core/arithmetic/ticks.ts";

/** Faults of states as words and as text. */
export const CODEC_FAULTS: readonly Fault[] = [
  {
    what: "Text that drops the ticks beyond a millisecond",
    file: TICKS,
    search: "return encode(steps * step, at - steps * perStep);",
    replace: "return encode(steps * step, 0);",
    laws: ["gcra"],
  },
  {
    what: "Leading zeros: several texts of one state",
    file: TICKS,
    search: "const TEXT = /^t1 (0|[1-9]\\d{0,15})(?: ([1-9]\\d{0,15}))?$/;",
    replace: "const TEXT = /^t1 (\\d{1,16})(?: (\\d{1,16}))?$/;",
    laws: ["gcra"],
  },
  {
    what: "More words than a state has are read as one",
    file: TICKS,
    search: "return count === 1 && isCount(at) ? at : undefined;",
    replace: "return isCount(at) ? at : undefined;",
    laws: ["gcra"],
  },
  {
    what: "`NaN` in shared memory is read as a state",
    file: TICKS,
    search: "return count === 1 && isCount(at) ? at : undefined;",
    replace: "return count === 1 ? at : undefined;",
    laws: ["gcra"],
  },
  {
    what: "Words written one place too far",
    file: TICKS,
    search: "words[offset + 1] = at.ticks;",
    replace: "words[offset + 2] = at.ticks;",
    laws: ["gcra"],
  },
  {
    what: "A log in text whose first gap is dropped",
    file: "core/algorithms/timeline_algorithm.ts",
    search: "gaps[place] = gaps[place - 2]! - gaps[place]!;",
    replace: "gaps[place] = gaps[place - 2]! - gaps[place]! - 1;",
    laws: ["slidingLog"],
  },
  {
    what: "Two counters in text of which one is lost",
    file: "core/algorithms/sliding_counter.ts",
    search: "`c1 ${window} ${previous} ${current}`",
    replace: "`c1 ${window} 0 ${current}`",
    laws: ["slidingCounter"],
  },
  {
    what: "Text of `all` that leaves a part's rest unread",
    file: "core/algorithms/all.ts",
    search: "return place === text.length ? pieces : undefined;",
    replace: "return pieces;",
    laws: ["all"],
  },
];
