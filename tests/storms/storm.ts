/** Figures of one situation, by their names; the columns of a storm's table. */
export type Row = Readonly<Record<string, string | number>>;

/** A bad day of a store. */
export interface Storm {
  /** The name by which `npm run storms` picks it, and the title of its table. */
  readonly name: string;
  /** Lets it happen, and measures what became of the calls. */
  run(): Promise<readonly Row[]>;
}
