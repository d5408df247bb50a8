import type { HeaderField } from "./header_writer.ts";

/**
 * The field that says when to come back (RFC 9110, 10.2.3): whole seconds, at least 1, as a client
 * that comes back at once would be refused again.
 *
 * @param milliseconds How long the client should wait; finite.
 */
export function retryAfterField(milliseconds: number): HeaderField {
  return ["Retry-After", String(Math.max(1, Math.ceil(milliseconds / 1000)))];
}
