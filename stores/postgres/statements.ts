/** Runs statements. */
export interface Statements {
  /** Runs one, and answers its rows. */
  run(text: string, values: readonly string[]): Promise<readonly Record<string, unknown>[]>;
  /** The most statements at a time. */
  readonly most: number;
  /** Lets go of what was made here; the client stays open. */
  close(): Promise<void>;
}
