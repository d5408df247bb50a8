/*
 * The law of several regions with real processes: six in three regions, 5, 20 and 40 ms away from a Redis.
 * One region is cut off for a while, and one is killed and comes back. `npm run regions` runs it.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { startDelayingProxy } from "../../support/redis/delaying_proxy.ts";
import { startRedis } from "../../support/redis/redis_process.ts";
import { RATE, TTL, UNITS } from "../../support/regions/policy.ts";
import { type RegionCall, requireRegionLaw } from "../../support/regions/region_law.ts";

const REGION = fileURLToPath(new URL("../../support/regions/region.ts", import.meta.url));
const LASTS = 8_000;
const PROCESSES = 2;

test("regions that are cut off, killed and come back use no more than the formula says", async () => {
  const redis = await startRedis();
  const ways = await Promise.all([5, 20, 40].map((delay) => startDelayingProxy(redis.port, delay)));
  const calls: RegionCall[] = [];

  /** Starts the processes of a region, and waits until they take. */
  async function start(url: string): Promise<ChildProcess[]> {
    return await Promise.all(Array.from({ length: PROCESSES }, async () => {
      const child = spawn(process.execPath, [REGION, url], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const lines = createInterface({ input: child.stdout! });
      await once(lines, "line");
      lines.on("line", (line) => {
        // The last line of a process that is killed may be half of one.
        if (line.endsWith("}")) calls.push(JSON.parse(line));
      });
      return child;
    }));
  }

  async function kill(children: readonly ChildProcess[]): Promise<void> {
    await Promise.all(children.map(async (child) => {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    }));
  }

  const children = await Promise.all(ways.map(({ url }) => start(url)));
  await sleep(LASTS / 4);
  ways[0]!.cut();
  await sleep(LASTS / 8);
  await kill(children[1]!);
  await sleep(LASTS / 8);
  ways[0]!.heal();
  ways[0]!.breakAll();
  children[1] = await start(ways[1]!.url);
  await sleep(LASTS / 2);
  await kill(children.flat());
  await Promise.all(ways.map((way) => way.stop()));
  await redis.stop();

  // The clock of one machine, whose whole milliseconds are rounded down at both ends. Spans are many,
  // so they are counted without the laws' own numbers of any size.
  const most = (from: number, to: number) =>
    RATE.burst + Math.floor(((to - from + 1) * RATE.limit) / RATE.period);
  const blocks = ways.length * PROCESSES * UNITS;
  const beyond = requireRegionLaw(calls, { most, ttl: TTL, blocks });
  const units = calls.reduce((sum, call) => sum + call.units, 0);
  console.log({ calls: calls.length, units, beyond, formula: Math.min(blocks, TTL) });
  assert.ok(units > LASTS / 2, `${units} units used`);
});
