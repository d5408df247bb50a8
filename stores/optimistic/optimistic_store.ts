/*
 * The store around the engine. It turns calls into jobs, and hands them to a router.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { closeNotice } from "../../core/close_notice.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { AsyncStore } from "../../core/store.ts";
import type { Answer, SpacedKey } from "../stepping/call.ts";
import { storeCalls, type Submit } from "../stepping/families.ts";
import type { Job, Turn } from "./job.ts";
import { performance, setImmediate } from "../own_timers.ts";

/** Brings each call to the server that has its keys. */
export interface JobRouter {
  /** The hash slot of a stored key; 0 if the server has no slots. */
  slotOf(key: string): number;
  /** Accepts a call. */
  submit(job: Job): void;
  /** Closes every connection, and fails all waiting calls, because the store is closed. */
  close(): void | Promise<void>;
}

/** The parts of a store. */
export interface OptimisticParts {
  /** The name of the factory, for errors. */
  readonly name: string;
  readonly router: JobRouter;
  /** Makes stored keys of the keys of a prefix and an algorithm. */
  namer(prefix: string, id: string): (key: string) => string;
  /** Throws if keys cannot be committed together. */
  requireTogether?(keys: readonly SpacedKey[]): void;
  /** Forgets all keys of a prefix, if the store can do that. */
  readonly deleteAll?: ((prefix: string) => Promise<void>) | undefined;
  /** Lists keys, if the store can do that. */
  readonly list?: AsyncStore["list"] | undefined;
}

/** Makes a store. */
export function optimisticStore(
  { name, router, namer, requireTogether, deleteAll, list }: OptimisticParts,
): AsyncStore {
  const turn = turns();
  let closed = false;
  let resolve!: Job["resolve"];
  let reject!: Job["reject"];

  /** Keeps the functions of the last promise: a closure for each call would cost a twentieth of the call. */
  function keepBoth(resolveIt: Job["resolve"], rejectIt: Job["reject"]): void {
    resolve = resolveIt;
    reject = rejectIt;
  }

  const submit: Submit = (space, key, at, bound, argument, several) => {
    let slot: number;
    try {
      slot = router.slotOf(space.nameOf(key));
      several?.keys.forEach(({ space, key }) => space.nameOf(key));
    } catch (error) {
      // A key cannot be stored. In a batch, it would make other calls fail.
      return Promise.reject(error);
    }
    const promise = new Promise<Answer>(keepBoth);
    router.submit({
      space,
      key,
      slot,
      at,
      bound,
      argument,
      several,
      turn: turn(),
      resolve,
      reject,
      tries: 0,
      races: 0,
      alone: false,
      lockedOut: undefined,
      cell: undefined,
      settled: false,
      answer: undefined,
    });
    return promise;
  };

  const { open, run } = storeCalls({ namer, submit, requireTogether });

  function requireOpen(action: string): void {
    if (!closed) return;
    throw new StoreUnavailableError(`Cannot ${action} as the ${name} must be open`, "no");
  }

  const { onClose, announce } = closeNotice();

  async function close(): Promise<void> {
    closed = true;
    const closing = router.close();
    announce();
    await closing;
  }

  return {
    open,
    run: async (operations, at) => await run(operations, at),
    ...(deleteAll !== undefined && {
      async deleteAll(prefix: string): Promise<void> {
        requireOpen("delete the keys of a prefix");
        await deleteAll(prefix);
      },
    }),
    ...(list !== undefined && {
      list(prefix: string, algorithm: Algorithm) {
        requireOpen("list keys");
        return list(prefix, algorithm);
      },
    }),
    onClose,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * The present turn of the event loop. The clock is read once for all calls of a turn, because a
 * reading for each call is a twentieth of all work. It is read at the end of the turn, because the
 * work of a turn before a call must not count against that call.
 */
function turns(): () => Turn {
  let current: Turn | undefined;
  return () => {
    if (current !== undefined) return current;
    const turn: Turn = current = { end: undefined };
    setImmediate(() => {
      current = undefined;
      turn.end = performance.now();
    });
    return turn;
  };
}
