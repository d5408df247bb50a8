import type { Fault } from "./fault.ts";
import { ADVICE_FAULTS } from "./faults/advice.ts";
import { CODEC_FAULTS } from "./faults/codecs.ts";
import { COMPOSITION_FAULTS } from "./faults/composition.ts";
import { HELD_FAULTS } from "./faults/held.ts";
import { LIMITER_FAULTS } from "./faults/limiter.ts";
import { OVERLOOKED_FAULTS } from "./faults/overlooked.ts";
import { RATE_FAULTS } from "./faults/rates.ts";
import { SHARED_FAULTS } from "./faults/shared.ts";
import { STORE_FAULTS } from "./faults/stores.ts";
import { TIME_FAULTS } from "./faults/time.ts";
import { WINDOW_FAULTS } from "./faults/windows.ts";

/** All faults. */
export const FAULTS: readonly Fault[] = [
  ...RATE_FAULTS,
  ...WINDOW_FAULTS,
  ...COMPOSITION_FAULTS,
  ...CODEC_FAULTS,
  ...LIMITER_FAULTS,
  ...STORE_FAULTS,
  ...SHARED_FAULTS,
  ...OVERLOOKED_FAULTS,
  ...ADVICE_FAULTS,
  ...TIME_FAULTS,
  ...HELD_FAULTS,
];
