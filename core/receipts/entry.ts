/** A receipt that a state remembers. */
export interface Entry {
  /** The receipt's id. */
  readonly id: number;
  /** When its units are given back; of a settled one, when it is forgotten. */
  readonly until: number;
  /** Its units that may yet be given back. */
  readonly units: number;
  /** The receipt's marks, as long as it is not settled and has a time to live. */
  readonly marks: readonly number[] | undefined;
}
