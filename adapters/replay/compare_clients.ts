/*
 * Compares two candidates request by request. Totals alone are not enough, because two limits that
 * refuse equally often may refuse different clients.
 */

import { firstFew } from "./first_few.ts";

/** The requests that two candidates would have decided differently. */
export interface Comparison {
  /** Requests that only the first one refuses. */
  readonly onlyFirst: number;
  /** Requests that only the second one refuses. */
  readonly onlySecond: number;
  /** Requests that both refuse. */
  readonly both: number;
  /** How many clients have requests that only one of the two refuses. */
  readonly clientsApart: number;
  /** The clients with the most requests that only one of the two refuses. */
  readonly clients: readonly ClientComparison[];
}

/** One client's requests that two candidates would have decided differently. */
export interface ClientComparison {
  /** The client. */
  readonly key: string;
  /** How many requests the client made. */
  readonly requests: number;
  /** Requests that only the first candidate refuses. */
  readonly onlyFirst: number;
  /** Requests that only the second candidate refuses. */
  readonly onlySecond: number;
  /** Requests that both candidates refuse. */
  readonly both: number;
}

/** Adds up a comparison, client by client. */
export interface Comparer {
  /**
   * Adds a client, with each candidate's verdicts on its requests: 1 for a refusal, otherwise 0.
   */
  add(key: string, requests: number, first: Uint8Array, second: Uint8Array): void;
  /** The comparison so far. */
  comparison(): Comparison;
}

/** Compares two candidates, and keeps the `most` clients on which they differ most. */
export function comparer(most: number): Comparer {
  const sums = { onlyFirst: 0, onlySecond: 0, both: 0, clientsApart: 0 };
  const apart = ({ onlyFirst, onlySecond }: ClientComparison) => onlyFirst + onlySecond;
  const clients = firstFew(most, (one: ClientComparison, other) => apart(other) - apart(one));
  return {
    add(key, requests, first, second) {
      let refusedFirst = 0;
      let refusedSecond = 0;
      let both = 0;
      for (let row = 0; row < requests; row++) {
        refusedFirst += first[row]!;
        refusedSecond += second[row]!;
        both += first[row]! & second[row]!;
      }
      const onlyFirst = refusedFirst - both;
      const onlySecond = refusedSecond - both;
      sums.onlyFirst += onlyFirst;
      sums.onlySecond += onlySecond;
      sums.both += both;
      if (onlyFirst + onlySecond === 0) return;
      sums.clientsApart++;
      const client = { key, requests, onlyFirst, onlySecond, both };
      clients.add(client, () => client);
    },
    comparison: () => ({ ...sums, clients: clients.items() }),
  };
}
