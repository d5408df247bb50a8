import { StoreUnavailableError } from "../../../core/errors.ts";

/** The error of a call that Redis did not decide. */
export function unavailableError(applied: "no" | "unknown", cause: Error): StoreUnavailableError {
  const what = applied === "no" ? "was not charged" : "may have been charged";
  return new StoreUnavailableError(
    `Cannot decide as Redis must be reachable, and the call ${what}: ${cause.message}`,
    applied,
    { cause },
  );
}
