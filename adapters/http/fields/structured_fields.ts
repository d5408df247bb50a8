/*
 * The part of structured fields (RFC 9651) that the RateLimit fields need: writing strings, and
 * byte sequences.
 */
import { errorMessage } from "../../../core/options/checks.ts";

const STRING_REGEXP = /^[\x20-\x7e]*$/;

/**
 * A string as a structured field holds it, in quotes.
 *
 * @throws {RangeError} If it holds anything but printable ASCII, such as a line break that would
 * begin a field of its own.
 */
export function quoteString(action: string, what: string, text: string): string {
  if (!STRING_REGEXP.test(text)) {
    throw new RangeError(
      errorMessage(action, `${what} must be of printable ASCII characters`, text),
    );
  }
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Text as a byte sequence: its UTF-8 in base64, between colons. */
export function byteSequence(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return `:${btoa(bytes.join(""))}:`;
}
