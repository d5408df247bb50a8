/*
 * The reasons why a batch failed. handle_outcome.ts has the consequences for its calls.
 */

/**
 * The reason why a batch failed:
 *
 * | kind | what happened | what follows |
 * |---|---|---|
 * | `lost` | the connection closed | another one is made at once |
 * | `silent` | no reply within the deadline | the breaker opens |
 * | `refused` | the server replied that it can do nothing now | the breaker opens |
 * | `unwritable` | the server replied that it takes no writes now | the breaker opens, but for calls that only look |
 * | `rejected` | the server replied an error about these calls | they fail, others are tried again |
 * | `moved` | another node of the cluster has the slot | the route is looked up again |
 *
 * Whether the calls were applied is another question. They were not if their writes were never sent,
 * or if the server replied to them with an error. Otherwise nobody knows.
 */
export interface BatchFailure {
  /** The kind of failure. */
  readonly kind: "lost" | "silent" | "refused" | "unwritable" | "rejected" | "moved";
  /** Whether the calls may have been applied. */
  readonly applied: "no" | "unknown";
  /** The error that was thrown or replied. */
  readonly error: Error;
}

/** The failure of a batch whose connection was found closed before anything was sent. */
export function connectionLost(): BatchFailure {
  return { kind: "lost", applied: "no", error: new Error("The connection was lost") };
}

/** The error of a call on a closed store. */
export function storeClosedError(): Error {
  return new Error("The store was closed");
}
