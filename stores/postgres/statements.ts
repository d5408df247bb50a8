/** Runs statements. */
export interface Statements {
  /**
   * Runs one, and answers its rows.
   *
   * @param name If it comes again and again: a name of its own, under which a connection may keep it.
   */
  run(
    text: string,
    values: readonly string[],
    name?: string,
  ): Promise<readonly Record<string, unknown>[]>;
  /** The most statements at a time. */
  readonly most: number;
  /** Releases what was created here; the client stays open. */
  close(): Promise<void>;
}
