import { formatValue } from "../core/options/checks.ts";

/** A value that a client threw, which may be anything, as an error. */
export function asError(thrown: unknown): Error {
  const { message } = (thrown ?? {}) as { readonly message?: unknown };
  return typeof message === "string"
    ? thrown as Error
    : new Error(`The client threw ${formatValue(thrown)}`);
}
