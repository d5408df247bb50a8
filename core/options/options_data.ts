/*
 * Options as data: the values, the meaning and the default of each option of a factory, stated once.
 * Schemas of rule files and of configurations are made of them, and so are the laws of bad input.
 *
 * A factory checks its options in code, because its errors say more, and because every bundle has them.
 * The data comes only with the list of all algorithms (`core/rules/limit_options.ts`).
 */

import type { BurstOptions, RateOptions } from "./rate_options.ts";

/** The values that an option may have. */
export type OptionKind =
  | { readonly kind: "integer"; readonly least?: number; readonly most?: number }
  | { readonly kind: "period" }
  | { readonly kind: "text"; readonly pattern?: string }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  | { readonly kind: "list"; readonly items: OptionKind }
  | { readonly kind: "either"; readonly kinds: readonly OptionKind[] };

/** An option: its values, its meaning, and whether it may be left out. */
export type OptionData = OptionKind & {
  readonly about: string;
  /** The value that a missing option stands for. */
  readonly default?: string | number;
  /** Whether it may be left out although no single value stands for it. */
  readonly isOptional?: boolean;
};

/** All options of a factory. The compiler ensures that none is missing. */
export type OptionsData<Options> = {
  readonly [Name in Options extends unknown ? keyof Options : never]: OptionData;
};

export const LIMIT: OptionData = {
  kind: "integer",
  least: 0,
  about: "Units admitted per period in the long run; 0 refuses everything.",
};

export const NAME: OptionData = {
  kind: "text",
  pattern: "^[ -~]+$",
  about: "What headers call the limit, in printable ASCII.",
  isOptional: true,
};

export const PERIOD: OptionData = {
  kind: "period",
  about: 'The period of the limit: whole milliseconds, or text such as "500ms", "10s", "1m".',
};

export const BURST: OptionData = {
  kind: "integer",
  least: 1,
  about: "Units that a fresh key admits at once.",
};

/** The options of algorithms without options of their own. */
export const RATE_OPTIONS: OptionsData<RateOptions> = { limit: LIMIT, period: PERIOD, name: NAME };

/** The options of algorithms that have a burst. */
export const BURST_OPTIONS: OptionsData<BurstOptions> = { ...RATE_OPTIONS, burst: BURST };
