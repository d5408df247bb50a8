/*
 * Renewals of permits: one timer and one heap for all permits that are held by one clock, so that
 * thousands of them need no timers of their own. The timer keeps no process alive, and each turn of
 * the event loop does a bounded number of renewals.
 */

import { type Clock, passingTime } from "../clock.ts";
import { MAX_PER_TURN } from "../waiting/turns.ts";
import { inBackground } from "../in_background.ts";
import {
  type Deadlines,
  deadlines,
  type Due,
  earliest,
  popDeadline,
  pushDeadline,
  sweep,
} from "../deadlines.ts";

/** A permit that is renewed. */
export interface Renewed extends Due {
  /** When `renew` is due, by `passing()`. */
  deadline: number;
  /** Whether it is still to be renewed. */
  isHeld: boolean;
  /** Renews the permit, and sets the next deadline. */
  renew(now: number): void;
}

/** The permits that are renewed by one clock. */
export interface Renewals {
  /** The time by which waits are measured, in milliseconds. */
  passing(): number;
  /** Renews a permit from now on. */
  add(permit: Renewed): void;
  /** Drops a permit that is no longer held. */
  drop(permit: Renewed): void;
}

const byClock = new WeakMap<object, Renewals>();
/** Stands for the runtime's own time. */
const REAL_TIME = {};

/** The renewals of a clock, made once for each clock that brings timers of its own. */
export function renewalsOf(clock: Clock | undefined): Renewals {
  const owner = clock?.after === undefined ? REAL_TIME : clock;
  const known = byClock.get(owner);
  if (known !== undefined) return known;
  const made = openRenewals(
    passingTime(clock),
    clock?.after === undefined ? inBackground : clock.after,
  );
  byClock.set(owner, made);
  return made;
}

function openRenewals(passing: () => number, after: NonNullable<Clock["after"]>): Renewals {
  const permits: Deadlines<Renewed> = deadlines();
  let cancel = () => {};
  let wakesAt = Infinity;

  function arm(deadline: number): void {
    if (deadline >= wakesAt) return;
    cancel();
    wakesAt = deadline;
    cancel = after(Math.max(0, Math.ceil(deadline - passing())), wake);
  }

  function wake(): void {
    wakesAt = Infinity;
    const now = passing();
    let first = earliest(permits, isHeld);
    for (let renewed = 0; first !== undefined && first.deadline <= now; renewed++) {
      if (renewed === MAX_PER_TURN) return arm(now);
      popDeadline(permits.heap);
      first.renew(now);
      if (first.isHeld) pushDeadline(permits, first);
      first = earliest(permits, isHeld);
    }
    if (first !== undefined) arm(first.deadline);
  }

  return {
    passing,
    add(permit) {
      permits.live++;
      pushDeadline(permits, permit);
      arm(permit.deadline);
    },
    drop(permit) {
      if (!permit.isHeld) return;
      permit.isHeld = false;
      permits.live--;
      sweep(permits, isHeld);
    },
  };
}

function isHeld(permit: Renewed): boolean {
  return permit.isHeld;
}
