/**
 * For authors of algorithms and stores only: the verbs, and the pure functions that every store
 * calls.
 *
 * @example The outcome of several calls, without a store
 * ```ts
 * import { gcra, memoryStore } from "tidegate";
 * import { consume, transact } from "tidegate/toolkit";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 2, period: "1m", burst: 2 });
 * const bound = memoryStore().open({ prefix: "api", algorithm, older: [] }).bind(consume);
 * const operations = [{ bound, key: "user:42", argument: 1 }];
 * const { nexts } = transact(operations, [algorithm.initial], 0);
 * assert.deepEqual(nexts, [30_000]);
 * ```
 *
 * @module
 */

export type {
  AlgorithmInternals,
  ArrivalRate,
  Blocks,
  Formula,
  Permits,
  Share,
  ShareMessage,
  Shares,
  SplitReducer,
  Wraps,
} from "./algorithm.ts";
export { takeOver } from "./carry_over.ts";
export { namesOf, plainFamily, type PlainStore } from "./plain_family.ts";
export type {
  Answered,
  BoundVerb,
  Family,
  FamilySpec,
  Inverse,
  ListedKey,
  Operation,
  RefundNotice,
  Steps,
  StoreBase,
  StoreMode,
  Transition,
  Verb,
  VerbKind,
} from "./store.ts";
export { keptFor } from "./kept_for.ts";
export type { Claim, Mark, Receipts, Settled } from "./receipts/receipt.ts";
export type { Returned, Returns } from "./arithmetic/returns.ts";
export { transact, type Transaction } from "./transact.ts";
export {
  type Attempt,
  attempt,
  type AttemptArgument,
  type Sight,
  type StateAt,
} from "./verbs/attempt.ts";
export { block, unblock } from "./verbs/block.ts";
export { charge } from "./verbs/charge.ts";
export { consume } from "./verbs/consume.ts";
export type { DecisionVerb } from "./verbs/decision_verb.ts";
export { peek } from "./verbs/peek.ts";
export { refund } from "./verbs/refund.ts";
export {
  reserve,
  type ReserveArgument,
  type Reserved,
  takeBackable,
} from "./verbs/take_backable.ts";
export { chargeReceipt, giveBackReceipt, type SettleArgument } from "./verbs/settle.ts";
