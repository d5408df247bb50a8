/** A receipt with a time to live that a state remembers until it is settled. */
export interface OpenReceipt {
  /** The receipt's id. */
  readonly id: number;
  /** When its units are given back. */
  readonly until: number;
  /** Its units that may yet be given back. */
  readonly units: number;
  /** The receipt's marks. */
  readonly marks: readonly number[];
}

/** The receipts that a state remembers. */
export interface RememberedReceipts {
  /** Open receipts, which have a time to live and are yet to be settled, by `until`. */
  readonly open: readonly OpenReceipt[];
  /**
   * Settled receipts, by `until`. Each has three numbers: when it is forgotten, its id, and its
   * units that may yet be given back. The list is flat, because a key that settles receipts writes
   * it at each call.
   */
  readonly settled: readonly number[];
}

/** How many numbers a settled receipt has. */
export const SETTLED_WIDTH = 3;
