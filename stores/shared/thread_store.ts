/*
 * A store in shared memory as the limiters of one thread call it: what `shared_store.ts` hands out,
 * but for its handle.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { checkCost, checkNow } from "../../core/options/checks.ts";
import type { Operation, PreparedCall, SyncStore } from "../../core/store.ts";
import { keyFamily } from "../../core/stored_key.ts";
import { decideIn, type DecideOn, type Stepper, stepperOf } from "./decide_on.ts";
import { callsOf, requireOpen } from "./enter_call.ts";
import { header, type Memory, MOST_OPERATIONS } from "./layout.ts";
import { numberCall } from "./number_call.ts";
import { runBatch } from "./operation_batch.ts";
import { cellsOfState } from "./states/state_layout.ts";
import { type SharedStoreStatistics, statisticsOf } from "./statistics.ts";
import { type HashStart, hashText } from "./table/hash.ts";
import { forgetKey } from "./table/table.ts";
import {
  familyStart,
  fingerprintFrom,
  fingerprintOf,
  openView,
  renewFamilies,
} from "./thread_view.ts";
import { detachThread } from "./threads/thread.ts";

/** What a store in shared memory does, beside its handle. */
export interface ThreadStore extends SyncStore {
  readonly internals: SyncStore["internals"];
  statistics(now?: number): SharedStoreStatistics;
}

/** Opens a store for the calling thread. */
export function openThreadStore(memory: Memory): ThreadStore {
  const { ints } = memory;
  const view = openView(memory, (view) => (name, algorithm, cost) => {
    const { low, high } = fingerprintFrom(view.start, name);
    // At the first of all instants: no limiter's key is taken for fresh.
    return decideOn(stepperOf(view, algorithm), low, high, cost, cost === 0, 0);
  });
  const calls = callsOf(view);
  const decideOn = decideIn(view, calls);

  function run(operations: readonly Operation[], at?: number): readonly Decision[] {
    requireOpen(view.thread);
    const now = checkNow(at ?? Date.now());
    for (const { cost } of operations) checkCost("run an operation", cost);
    renewFamilies(view);
    const [first] = operations;
    if (operations.length !== 1 || first === undefined || first.replaces !== undefined) {
      return runBatch(view, calls, operations, now);
    }
    const { key, algorithm, cost, dry } = first;
    const { low, high } = fingerprintOf(view, key);
    return [decideOn(stepperOf(view, algorithm), low, high, cost, dry, now)];
  }

  function prepare(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    renewFamilies(view);
    let call = prepareNow(prefix, algorithm);
    let resets = ints[header.resets];
    return function decideOne(key, cost, dry, at) {
      if (ints[header.resets] !== resets) {
        resets = ints[header.resets];
        renewFamilies(view);
        call = prepareNow(prefix, algorithm);
      }
      return call(key, cost, dry, at);
    };
  }

  function prepareNow(prefix: string, algorithm: Algorithm): PreparedCall<Decision> {
    const keys = familyStart(view, keyFamily(prefix, algorithm.id));
    const stepper = stepperOf(view, algorithm);
    return stepper.layout.isNumber
      ? numberCall(view, decideOn, stepper, keys)
      : generalCall(decideOn, stepper, keys);
  }

  function forget(stored: string): void {
    requireOpen(view.thread);
    renewFamilies(view);
    const { low, high } = fingerprintOf(view, stored);
    calls.enter();
    try {
      while (view.scan(low, high, 0) !== 0 && !forgetKey(view.table));
    } finally {
      calls.leave();
    }
  }

  const close = () => detachThread(view.thread);
  return {
    run,
    internals: { prepare, mostOperations: MOST_OPERATIONS },
    accepts: (algorithm) => void cellsOfState(algorithm),
    delete: forget,
    deleteAll(prefix) {
      requireOpen(view.thread);
      view.generations.raise(prefix);
    },
    close,
    [Symbol.asyncDispose]: () => Promise.resolve(close()),
    statistics: (now = Date.now()) => statisticsOf(memory, now),
  };
}

/** The prepared call of an algorithm whose states are more than one number. */
function generalCall(
  decideOn: DecideOn,
  stepper: Stepper,
  keys: HashStart,
): PreparedCall<Decision> {
  const fingerprint = new Int32Array(2);
  let lastKey = "";
  return function decideOne(key, cost, dry, at) {
    const now = at === undefined ? Date.now() : at;
    if (key !== lastKey) {
      hashText(keys, key, fingerprint);
      lastKey = key;
    }
    return decideOn(stepper, fingerprint[0]! & ~3, fingerprint[1]!, cost, dry, now);
  };
}
