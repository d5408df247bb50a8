import { ContentionError, StoreFullError, StoreUnavailableError } from "../../../core/errors.ts";

/** Whether an error is that of a store which could not decide, and nobody's fault. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof ContentionError ||
    error instanceof StoreFullError;
}
