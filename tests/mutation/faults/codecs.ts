import { type Fault, faultsIn } from "../fault.ts";

/** Faults of states as words and as text. */
export const CODEC_FAULTS: readonly Fault[] = [
  ...faultsIn("core/arithmetic/ticks.ts", ["gcra"], {
    "Text that drops the ticks beyond a millisecond":
      "return encode(steps * step, {~~at - steps * perStep~>0~~});",
    "`NaN` in shared memory is read as a state":
      "(at: number) => {~~isCount(at) ? at : undefined~>at~~}",
    "Words written one place too far": "words[offset + {~~1~>2~~}] = at.ticks;",
  }),
  ...faultsIn("core/arithmetic/numbers_codec.ts", ["gcra"], {
    "More words than a state has are read as one": "count {~~==~>>~~}= maxWords",
  }),
  ...faultsIn("core/arithmetic/counts.ts", ["slidingLog"], {
    "Leading zeros: several texts of one state": ["/^(0|[1-9]\\d{0,15})$/", "/^\\d{1,16}$/"],
  }),
  ...faultsIn("core/algorithms/timeline_algorithm.ts", ["slidingLog"], {
    "A log in text whose first gap is dropped":
      "gaps[index] = gaps[index - 2]! - gaps[index]!{~~~> - 1~~};",
  }),
  ...faultsIn("core/algorithms/sliding_counter.ts", ["slidingCounter"], {
    "Two counters in text of which one is lost": "`c1 ${window} {~~${previous}~>0~~} ${current}`",
  }),
  ...faultsIn("core/algorithms/all.ts", ["all"], {
    "Text of `all` that leaves a part's rest unread": [
      "if (start !== text.length) return undefined;",
      "",
    ],
  }),
];
