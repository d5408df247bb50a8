/** A part of a report or of advice. */
export interface Section {
  /** The heading before it on a page. */
  readonly heading?: string | undefined;
  readonly title?: string | undefined;
  /** How pages show its lines. */
  readonly kind?: "answer" | "note" | "list" | undefined;
  readonly lines?: readonly string[] | undefined;
  /** A table; its first row is its head. */
  readonly rows?: readonly (readonly string[])[] | undefined;
  /** Lines that are to be copied. */
  readonly code?: readonly string[] | undefined;
  /** Its picture where there is only text. */
  readonly text?: readonly string[] | undefined;
  /** A note about its plot. */
  readonly plotNote?: string | undefined;
  /** Draws its plot, in a width. */
  readonly plot?: ((width: number) => string) | undefined;
}
