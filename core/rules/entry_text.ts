/** An entry of a descriptor as counters' keys and labels show it: no two make the same text. */
export function entryText(key: string, value: string | undefined): string {
  return value === undefined ? escaped(key) : `${escaped(key)}=${escaped(value)}`;
}

const SPECIAL_REGEXP = /[%=,]/;

/** The text with the signs that part entries escaped. */
export function escaped(text: string): string {
  return SPECIAL_REGEXP.test(text)
    ? text.replaceAll("%", "%25").replaceAll("=", "%3D").replaceAll(",", "%2C")
    : text;
}
