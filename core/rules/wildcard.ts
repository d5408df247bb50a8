/** A pattern in which each `*` stands for any text, taken apart at the stars. */
export interface Wildcard {
  /** The pattern as it was written. */
  readonly text: string;
  /** The text before the first star. */
  readonly start: string;
  /** The texts between stars, in order. */
  readonly middle: readonly string[];
  /** The text after the last star. */
  readonly end: string;
}

/** Takes a pattern apart; `undefined` if it has no `*`. */
export function wildcardOf(text: string): Wildcard | undefined {
  const pieces = text.split("*");
  if (pieces.length === 1) return undefined;
  return { text, start: pieces[0]!, middle: pieces.slice(1, -1), end: pieces.at(-1)! };
}

/**
 * Whether the text matches the pattern. Each piece is searched once, starting where the piece
 * before it ended, so the time is at most the text's length times the number of stars.
 */
export function matchesWildcard(pattern: Wildcard, text: string): boolean {
  const { start, middle, end } = pattern;
  if (text.length < start.length + end.length) return false;
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  const last = text.length - end.length;
  let index = start.length;
  for (const piece of middle) {
    const found = text.indexOf(piece, index);
    if (found === -1 || found + piece.length > last) return false;
    index = found + piece.length;
  }
  return true;
}
