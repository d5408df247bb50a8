import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { keepsOrder } from "../../../stores/shared/processor.ts";
import {
  makePair,
  missedEachOther,
  readAndWrite,
  swapAndRead,
  waitPlainly,
} from "./support/plain_order.ts";

/** Rounds of each order: enough for an engine's best code. */
const ROUNDS = 1_000_000;

test("on x86 engines and processors keep the order of plain accesses that the store relies on", async () => {
  if (!keepsOrder()) return;
  const pair = makePair(ROUNDS);
  const url = new URL("./support/plain_order_worker.ts", import.meta.url);
  const worker = new Worker(url, { workerData: pair });
  assert.ok(waitPlainly(pair));
  swapAndRead(pair, 0);
  const early = readAndWrite(pair);
  await new Promise((resolve) => worker.once("exit", resolve));
  assert.equal(missedEachOther(pair), 0);
  assert.equal(early, 0);
});
