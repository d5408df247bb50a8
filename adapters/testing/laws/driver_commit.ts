/*
 * Both kinds of drivers as one: what commits groups. A driver that locks compares in its transaction.
 */

import {
  type CompareAndSet,
  type DriverCell,
  type DriverCommit,
  DriverError,
} from "../../../stores/driver.ts";
import type { LockedTransaction } from "../../../stores/locked/locked_transaction.ts";

/** Commits groups, again where the driver says that nothing was written and asks for that. */
export type Commit = (groups: readonly (readonly DriverCell[])[]) => Promise<DriverCommit>;

/** The most times that a driver may ask to be tried again. */
const MOST_RETRIES = 100;
/** A text that no key holds, so that a group which expects it is lost, and tells what is there. */
const NOT_HELD = "nothing holds this";

/** How to commit groups on a driver of either kind. */
export function committer(driver: CompareAndSet | LockedTransaction): Commit {
  const { signal } = new AbortController();
  return async function commit(groups) {
    for (let retry = 0;; retry++) {
      try {
        return await ("commit" in driver
          ? driver.commit(groups, signal)
          : commitLocked(driver, groups));
      } catch (error) {
        if (!(error instanceof DriverError && error.retry) || retry >= MOST_RETRIES) throw error;
      }
    }
  };
}

function commitLocked(
  driver: LockedTransaction,
  groups: readonly (readonly DriverCell[])[],
): DriverCommit {
  let time: number | undefined;
  const lost = groups.flatMap((cells, group) => {
    const told = driver.transact(cells.map(({ key }) => key), (held, now) => {
      time = now;
      if (cells.some((cell, index) => cell.held !== held[index])) {
        return { writes: [], answer: [...held] };
      }
      return { writes: cells.filter(({ held, next }) => held !== next), answer: undefined };
    });
    return told === undefined ? [] : [{ group, held: told }];
  });
  if (groups.length === 0) {
    driver.transact([], (_, now) => {
      time = now;
      return { writes: [], answer: undefined };
    });
  }
  return { now: time, lost };
}

/** The texts that keys hold, as a lost group is given them. */
export async function read(commit: Commit, keys: readonly string[]): Promise<readonly string[]> {
  const cell = { held: NOT_HELD, next: NOT_HELD, freshAt: 0 };
  const { lost } = await commit(keys.map((key) => [{ ...cell, key }]));
  const texts = new Map(lost.map(({ group, held }) => [group, held[0]]));
  return keys.map((_, group) => texts.get(group) ?? "nothing was reported");
}

/** The time of the database. */
export async function timeOf(commit: Commit): Promise<number> {
  return (await commit([])).now ?? Date.now();
}
