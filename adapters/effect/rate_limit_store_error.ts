import type * as Cause from "effect/Cause";
import * as Schema from "effect/Schema";

import { isStoreError, type StoreUnavailableError } from "../../core/errors.ts";

/** Why a store did not answer. */
export type StoreErrorReason = "unavailable" | "contention" | "full" | "overloaded";

/** The fields of `RateLimitStoreError`. */
export type RateLimitStoreErrorFields = Schema.TaggedStruct<"RateLimitStoreError", {
  readonly reason: Schema.Literals<["unavailable", "contention", "full", "overloaded"]>;
  readonly applied: Schema.Literals<["no", "unknown"]>;
  readonly message: typeof Schema.String;
  readonly cause: Schema.Defect;
}>;

const schema = Schema.TaggedError<RateLimitStoreError>();

/** The store did not answer. */
export interface RateLimitStoreError extends Cause.YieldableError {
  /** What `Effect.catchTag` catches it by. */
  readonly _tag: "RateLimitStoreError";
  /**
   * Why: it could not be reached in time (`"unavailable"`), lost the race for a key too often
   * (`"contention"`), is full and set to refuse then (`"full"`), or has too many calls waiting for it
   * (`"overloaded"`), which is a refusal and no outage.
   */
  readonly reason: StoreErrorReason;
  /** Whether the call may have been charged all the same. */
  readonly applied: "no" | "unknown";
  /** What could not be done, and why. */
  readonly message: string;
  /** What the store threw. */
  readonly cause: unknown;
}

/** The class and the schema of `RateLimitStoreError`. */
export const RateLimitStoreError: Schema.Class<
  RateLimitStoreError,
  RateLimitStoreErrorFields,
  Cause.YieldableError
> = schema("RateLimitStoreError", {
  reason: Schema.Literals(["unavailable", "contention", "full", "overloaded"]),
  applied: Schema.Literals(["no", "unknown"]),
  message: Schema.String,
  cause: Schema.Defect(),
});

const REASONS: Readonly<Record<string, StoreErrorReason>> = {
  StoreUnavailableError: "unavailable",
  ContentionError: "contention",
  StoreFullError: "full",
  StoreOverloadedError: "overloaded",
};

/** The typed error of what a store threw; `undefined` if a store does not throw such a thing. */
export function storeErrorOf(cause: unknown): RateLimitStoreError | undefined {
  if (!isStoreError(cause)) return undefined;
  const { name, message, applied } = cause as StoreUnavailableError;
  return new RateLimitStoreError({
    reason: REASONS[name]!,
    applied: applied === "unknown" ? "unknown" : "no",
    message: String(message),
    cause,
  });
}
