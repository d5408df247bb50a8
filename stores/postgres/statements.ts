/** Runs statements. */
export interface Statements {
  /**
   * Runs a statement, and returns its rows.
   *
   * @param name A name under which a connection may keep the statement, if it runs again and again.
   */
  run(
    text: string,
    values: readonly string[],
    name?: string,
  ): Promise<readonly Record<string, unknown>[]>;
  /** The most statements at a time. */
  readonly most: number;
  /** Releases the resources that were created here. The client stays open. */
  close(): Promise<void>;
}
