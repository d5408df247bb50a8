/** The first text after every text with this beginning, in the order of UTF-8. */
export function textAfterAll(beginning: string): string {
  return beginning.slice(0, -1) +
    String.fromCharCode(beginning.charCodeAt(beginning.length - 1) + 1);
}
