/*
 * Processes that give out permits by themselves, of shares in one store behind a network: it loses
 * messages and answers, doubles them, and delivers some of them long after they were sent. Processes
 * die in between, and their clocks differ by minutes.
 */

import assert from "node:assert/strict";

import { virtualClock } from "../../../adapters/testing/testing.ts";
import {
  type Clock,
  concurrency,
  hold,
  limiter,
  type Permit,
  type SyncStore,
} from "../../../mod.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { networkTo } from "../network.ts";
import { numbersFrom } from "../numbers_from.ts";

/** The options of a network. */
export interface ShareNetworkOptions {
  /** Units that may be held at once. */
  readonly limit: number;
  /** Milliseconds for which a share is held. */
  readonly ttl: number;
  /** Units of a block. */
  readonly units: number;
  /** How many processes live at once. */
  readonly processes: number;
  /** Messages that arrive. */
  readonly steps: number;
  /** A whole number from which all that happens is drawn. */
  readonly seed: number;
  /** Where the shares are kept. */
  readonly store: SyncStore;
}

interface HeldPermit {
  readonly permit: Permit;
  readonly cost: number;
}

interface Process {
  isAlive: boolean;
  readonly held: Set<HeldPermit>;
  hold(cost: number): Promise<void>;
}

const ORIGIN = 1_790_000_000_000;

/**
 * Lets processes hold and release until that many messages have arrived. Fails if they hold too much.
 */
export async function shareNetwork(options: ShareNetworkOptions): Promise<void> {
  const { limit, ttl, units, steps, store } = options;
  const random = numbersFrom(options.seed);
  const below = (most: number) => Math.floor(random() * most);
  const clock = virtualClock(ORIGIN);
  const algorithm = concurrency({ limit, ttl });
  const prefix = `shares-${options.seed}`;
  const exact = limiter(algorithm, { store, prefix, clock: () => clock() });
  let arrived = 0;
  const processes = new Set<Process>();

  function start(): Process {
    const process: Process = {
      isAlive: true,
      held: new Set(),
      async hold(cost) {
        const { permit } = await hold(jobs, "key", { cost }).catch(() => ({ permit: undefined }));
        if (permit !== undefined) process.held.add({ permit, cost });
      },
    };
    const shift = below(600_000) - 300_000;
    const own: Clock = Object.assign(() => clock() + shift, {
      after: (milliseconds: number, wake: () => void) =>
        clock.after(milliseconds, () => process.isAlive && wake()),
    });
    const jobs = limiter(algorithm, {
      store: lease(
        networkTo(store, clock, random, ttl, () => arrived++, () => process.isAlive),
        { units, ttl: Math.ceil(ttl / 20) },
      ),
      prefix,
      clock: own,
    });
    processes.add(process);
    return process;
  }

  function act(process: Process): void {
    const isReleasing = random() < 0.02;
    for (const one of process.held) {
      if (one.permit.signal.aborted) process.held.delete(one);
      else if (random() < (isReleasing ? 0.5 : 1 / ttl)) {
        process.held.delete(one);
        void one.permit.release();
      }
    }
    // In bursts: of holding, of releasing, and nothing.
    const mood = Math.floor(clock() / (ttl / 3)) % 4;
    const holds = mood === 3 ? 0 : mood === 1 ? 1 + below(3) : random() < 0.2 ? 1 : 0;
    for (let hold = 0; hold < holds; hold++) {
      void process.hold(random() < 0.9 ? 1 : 1 + below(limit / 2 + 1));
    }
    if (random() < 1 / (20 * ttl)) {
      process.isAlive = false;
      processes.delete(process);
    }
  }

  while (arrived < steps) {
    while (processes.size < options.processes) start();
    await clock.pass(1);
    for (const process of processes) act(process);
    const inUse = unitsInUse(processes);
    assert.ok(inUse <= limit, `${inUse} of ${limit} are held at ${clock() - ORIGIN} ms`);
  }
  for (const process of processes) process.isAlive = false;
  // Messages under way may still arrive, and begin a share that nobody holds.
  await clock.pass(3 * ttl);
  assert.equal(exact.peek("key", 0).remaining, limit, "free a ttl after the last message");
}

function unitsInUse(processes: Iterable<Process>): number {
  let units = 0;
  for (const { held } of processes) {
    for (const { permit, cost } of held) if (!permit.signal.aborted) units += cost;
  }
  return units;
}
