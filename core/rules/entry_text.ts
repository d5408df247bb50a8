/**
 * An entry of a descriptor as text for counters' keys and labels. Different entries make different
 * texts.
 */
export function entryText(key: string, value: string | undefined): string {
  return value === undefined ? escaped(key) : `${escaped(key)}=${escaped(value)}`;
}

const SPECIAL_REGEXP = /[%=,]/;

/** The text with the characters that separate entries escaped. */
export function escaped(text: string): string {
  return SPECIAL_REGEXP.test(text)
    ? text.replaceAll("%", "%25").replaceAll("=", "%3D").replaceAll(",", "%2C")
    : text;
}
