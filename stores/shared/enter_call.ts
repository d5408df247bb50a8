/*
 * The beginning and the end of a call: between them the thread announces something, so that nobody
 * takes its record over; a thread that has lost its record attaches once more.
 */

import { StoreUnavailableError } from "../../core/errors.ts";
import { CALLS, OWNER } from "./layout.ts";
import { protectNoMore } from "./table/table.ts";
import type { ThreadView } from "./thread_view.ts";
import { clearMore } from "./threads/announcements.ts";
import { attachAgain, isDetached, type Thread } from "./threads/thread.ts";

/** The beginning and the end of the calls of a thread. */
export interface Calls {
  /**
   * Begins a call.
   *
   * @throws {StoreUnavailableError} If the store is closed.
   * @throws {StoreFullError} If the thread has lost its record, and there is none for it.
   */
  enter(): void;
  /** Ends a call; the record of one that was cut short in the middle of a change is nobody's. */
  leave(): void;
}

/** The calls of a thread, closed over its view of the store. */
export function callsOf(view: ThreadView): Calls {
  const { memory: { ints }, thread, nodes, table } = view;
  return {
    enter() {
      // A call that was cut short has left its word announced.
      const isCutShort = ints[thread.announced] !== 0;
      if (thread.isChanging) takeAnotherRecord(view);
      for (;;) {
        if (ints[thread.record + OWNER] !== thread.owner) takeAnotherRecord(view);
        ints[thread.announced] = 1;
        if (ints[thread.record + OWNER] === thread.owner) break;
        ints[thread.announced] = 0;
      }
      ints[thread.record + CALLS]!++;
      nodes.abandon();
      if (!isCutShort) return;
      clearMore(thread);
      protectNoMore(table);
    },
    leave() {
      if (!thread.isChanging) ints[thread.announced] = 0;
    },
  };
}

/** Throws a `StoreUnavailableError` if the store is closed. */
export function requireOpen(thread: Thread): void {
  if (!isDetached(thread)) return;
  throw new StoreUnavailableError("Cannot decide as the shared store must be open", "no");
}

/**
 * Attaches once more, as another thread has taken the record over while this one was idle, or as
 * nobody knows what was done of a change that was cut short.
 */
function takeAnotherRecord({ thread, nodes }: ThreadView): void {
  const { isChanging } = thread;
  requireOpen(thread);
  attachAgain(thread);
  if (isChanging) nodes.forget();
}
