import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { keepsOrder } from "../../../stores/shared/processor.ts";
import { sawOutOfOrder, waitPlainly } from "./support/plain_order.ts";

/** Pairs that are read: enough for an engine's best code. */
const READS = 2_000_000;

test("on x86 engines and processors keep the order of plain accesses that the store relies on", async () => {
  if (!keepsOrder()) return;
  const ints = new Int32Array(new SharedArrayBuffer(4 * 4_096));
  const url = new URL("./support/plain_order_worker.ts", import.meta.url);
  const writer = new Worker(url, { workerData: ints });
  // A read that is repeated after a write at another index is made again.
  assert.ok(waitPlainly(ints));
  const outOfOrder = sawOutOfOrder(ints, READS);
  Atomics.store(ints, 3_072, 1);
  await new Promise((resolve) => writer.once("exit", resolve));
  assert.equal(outOfOrder, 0);
});
