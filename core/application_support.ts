/*
 * The part of the library that the applications (service, replay, command) use in addition to its
 * public entry points. It is not a subpath of the package. It would become one if an application
 * became a package of its own.
 */

export { splitReducer } from "./algorithms/split_reducer.ts";
export { mayDelay } from "./algorithms/may_delay.ts";
export { setBounded } from "./bounded_map.ts";
export { isStoreError } from "./errors.ts";
export { firstPrinted, guarded } from "./guarded.ts";
export {
  checkChoice,
  checkInteger,
  checkMilliseconds,
  checkOptions,
  checkText,
  errorMessage,
  formatValue,
  integerFrom,
  LAST_INSTANT,
  type OptionNames,
} from "./options/checks.ts";
export { durationText, type Period, periodText, readPeriod } from "./options/period.ts";
export { readReason } from "./options/read_reason.ts";
export { hintAt } from "./options/suggest_option.ts";
export { matchesWildcard, wildcardOf } from "./rules/wildcard.ts";
export { withTimeout } from "./with_timeout.ts";
export { workerProgram } from "./worker_program.ts";
