import type * as Cause from "effect/Cause";
import * as Schema from "effect/Schema";

import { ContentionError, StoreFullError, StoreUnavailableError } from "../../core/errors.ts";

/** Why a store did not answer. */
export type StoreErrorReason = "unavailable" | "contention" | "full";

/** The fields of `RateLimitStoreError`. */
export type RateLimitStoreErrorFields = Schema.TaggedStruct<"RateLimitStoreError", {
  readonly reason: Schema.Literals<["unavailable", "contention", "full"]>;
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
   * (`"contention"`), or is full and told to say so (`"full"`).
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
  reason: Schema.Literals(["unavailable", "contention", "full"]),
  applied: Schema.Literals(["no", "unknown"]),
  message: Schema.String,
  cause: Schema.Defect(),
});

/** The typed error of what a store threw; `undefined` if a store does not throw such a thing. */
export function storeErrorOf(cause: unknown): RateLimitStoreError | undefined {
  const reason = reasonOf(cause);
  if (reason === undefined) return undefined;
  const { message } = cause as Error;
  const applied = cause instanceof StoreUnavailableError ? cause.applied : "no";
  return new RateLimitStoreError({ reason, applied, message, cause });
}

function reasonOf(cause: unknown): StoreErrorReason | undefined {
  if (cause instanceof StoreUnavailableError) return "unavailable";
  if (cause instanceof ContentionError) return "contention";
  return cause instanceof StoreFullError ? "full" : undefined;
}
