import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";

import { type AsyncLimiter, reserve } from "../../../mod.ts";
import { openStore, type Place } from "../open_store.ts";
import { isLong } from "../seed.ts";
import { ended, startFile } from "../start_file.ts";
import { type Claimed, LIMIT, type Round, type RoundReport, settledLimiters } from "./settler.ts";

const SETTLER = new URL("./settler.ts", import.meta.url);
/** The settlers of a place. */
const SETTLERS = isLong() ? 3 : 2;
/** Receipts of each limiter in a round. */
const RECEIPTS = 20;
/** Rounds of four limiters: 20,000 receipts at length. */
const ROUNDS = isLong() ? 250 : 2;

interface Settler {
  settle(round: Round): Promise<RoundReport>;
  end(): Promise<unknown>;
}

function startProcess(place: Place): Settler {
  const child = startFile("receipts/settler", [JSON.stringify(place)]);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const ends = ended(child);
  return {
    async settle(round) {
      child.stdin!.write(`${JSON.stringify(round)}\n`);
      const { value, done } = await lines.next();
      assert.ok(done !== true, "a settler ended early");
      return JSON.parse(value) as RoundReport;
    },
    end() {
      child.stdin!.end();
      return ends;
    },
  };
}

function startThread(place: Place): Settler {
  const worker = new Worker(SETTLER, { workerData: place });
  return {
    settle: (round) =>
      new Promise((resolve, reject) => {
        worker.once("error", reject);
        worker.once("message", (report: RoundReport) => {
          worker.off("error", reject);
          resolve(report);
        });
        worker.postMessage(round);
      }),
    // On Deno a thread cannot close its own port.
    end: () => worker.terminate(),
  };
}

/**
 * Lets settlers settle the same receipts at once, and each of them twice. Each receipt must be
 * settled by one of these calls, and the keys must hold what was used.
 */
export async function settledTogether(place: Place): Promise<void> {
  const { store, close } = await openStore(place);
  const limiters = settledLimiters(store);
  const start = place.kind === "shared" ? startThread : startProcess;
  const settlers = Array.from({ length: SETTLERS }, () => start(place));
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const key = `round ${round}`;
      const claims = await Promise.all(limiters.map((api) => claimsOf(api, key)));
      const reports = await Promise.all(
        settlers.map((settler, index) =>
          settler.settle({ key, claims, from: index * Math.floor(RECEIPTS / SETTLERS) })
        ),
      );
      await checkRound(limiters, key, claims, reports);
    }
  } finally {
    await Promise.all(settlers.map((settler) => settler.end()));
    await close();
  }
}

/** Receipts, each with what its call used: less than it took, as much, or more. */
async function claimsOf(api: AsyncLimiter, key: string): Promise<readonly Claimed[]> {
  const claims: Claimed[] = [];
  for (let index = 0; index < RECEIPTS; index++) {
    const { receipt } = await reserve(api, key, 1 + index % 3);
    claims.push([receipt!, index % 5]);
  }
  return claims;
}

async function checkRound(
  limiters: readonly AsyncLimiter[],
  key: string,
  claims: readonly (readonly Claimed[])[],
  reports: readonly RoundReport[],
): Promise<void> {
  assert.deepEqual(reports.flatMap(({ own }) => own).filter((times) => times !== 1), []);
  for (const [index, api] of limiters.entries()) {
    const list = claims[index]!;
    const times = list.map((_, at) =>
      reports.reduce((sum, report) => sum + report.settled[index]![at]!, 0)
    );
    assert.deepEqual(times, list.map(() => 1), `${api.algorithm.id}: each receipt once`);
    const used = list.reduce((sum, [, used]) => sum + used, 0);
    const seen = await api.peek(key, 0);
    for (const { remaining } of seen.parts ?? [seen]) {
      assert.equal(LIMIT - remaining, used, api.algorithm.id);
    }
  }
}
