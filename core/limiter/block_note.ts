/** A block as `onBlock` receives it, together with the key and the decision after the block. */
export interface BlockNote {
  /** The requested milliseconds of the block; `Infinity` without an end, 0 for an `unblock`. */
  readonly duration: number;
  /** The reason that was given. */
  readonly reason: string | undefined;
}
