/*
 * Decisions in the types of Effect, with a schema, so that they can be sent in remote calls and
 * written to logs.
 */

import * as Duration from "effect/Duration";
import * as Schema from "effect/Schema";

import type { Decision as CoreDecision, DecisionSource } from "../../core/decision.ts";

/**
 * A limiter's answer: the fields of tidegate's decision, with durations as `Duration`.
 *
 * All times are durations from the instant of the call, never instants.
 */
export interface Decision {
  /** The verdict. */
  readonly allowed: boolean;
  /** Units admitted per period in the long run. */
  readonly limit: number;
  /** Whole units that one call could still take now, after this one; at least 0. */
  readonly remaining: number;
  /** The time until the same cost would be admitted: zero if allowed, infinite if never. */
  readonly retryAfter: Duration.Duration;
  /** The time until `remaining` next grows; zero at capacity. */
  readonly nextAfter: Duration.Duration;
  /** The time until the key is fresh. */
  readonly resetAfter: Duration.Duration;
  /** The time to wait before going ahead: zero except for an admitted call of `leakyQueue`. */
  readonly delay: Duration.Duration;
  /** Units beyond the capacity, 0 otherwise. */
  readonly debt: number;
  /**
   * `undefined` when the limiter's own store answered; otherwise the source that answered instead.
   */
  readonly source: DecisionSource | undefined;
  /** For several limits together: the decision of each limit, in order. */
  readonly parts: readonly Decision[] | undefined;
}

/**
 * The schema of a decision. It is encoded as tidegate's own decision: durations are numbers of
 * milliseconds.
 */
export const Decision: Schema.Codec<Decision, CoreDecision> = Schema.Struct({
  allowed: Schema.Boolean,
  limit: Schema.Number,
  remaining: Schema.Number,
  retryAfter: Schema.DurationFromMillis,
  nextAfter: Schema.DurationFromMillis,
  resetAfter: Schema.DurationFromMillis,
  delay: Schema.DurationFromMillis,
  debt: Schema.Number,
  source: Schema.UndefinedOr(Schema.Literals(["fallback", "policy"])),
  parts: Schema.UndefinedOr(
    Schema.Array(Schema.suspend((): Schema.Codec<Decision, CoreDecision> => Decision)),
  ),
});

/** A decision of tidegate with its durations as `Duration`. */
export function withDurations(decision: CoreDecision): Decision {
  return {
    allowed: decision.allowed,
    limit: decision.limit,
    remaining: decision.remaining,
    retryAfter: durationOf(decision.retryAfter),
    nextAfter: durationOf(decision.nextAfter),
    resetAfter: durationOf(decision.resetAfter),
    delay: durationOf(decision.delay),
    debt: decision.debt,
    source: decision.source,
    parts: decision.parts?.map(withDurations),
  };
}

/** Most durations are zero: they share one object. */
function durationOf(milliseconds: number): Duration.Duration {
  return milliseconds === 0 ? Duration.zero : Duration.millis(milliseconds);
}
