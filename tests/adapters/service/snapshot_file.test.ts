import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import process from "node:process";
import { describe, test } from "node:test";

import { objectSource } from "../../../adapters/rules/rules.ts";
import { type LogEvent, serve, type ServeOptions } from "../../../adapters/service/service.ts";
import { type MemoryStore, memoryStore } from "../../../mod.ts";
import { inFolder } from "../../support/in_folder.ts";
import { oneRule, post, until, withService } from "./support/running.ts";
import { testOnce } from "../../support/test_once.ts";

const asking = { entries: { user: "42" } };

/** A log of events, without the time. */
function logged() {
  const events: LogEvent[] = [];
  return { events, log: (event: LogEvent) => void events.push(event) };
}

/** How many of these calls are admitted. */
async function admitted(service: { url: string }, calls: number): Promise<number> {
  let count = 0;
  for (let call = 0; call < calls; call++) {
    const { body } = await post(service, "/v1/consume", asking);
    if (body.allowed) count++;
  }
  return count;
}

/** The units admitted in one window by a service that restarts in the middle of a load. */
async function overARestart(options: Partial<ServeOptions>): Promise<number> {
  let units = 0;
  for (const calls of [70, 70]) {
    await withService(async (service) => {
      units += await admitted(service, calls);
    }, { rules: oneRule("user", 100), ...options });
  }
  return units;
}

/** Waits until a file is written again. */
async function nextWrite(path: string): Promise<void> {
  const writtenAt = () => stat(path).then(({ mtimeMs }) => mtimeMs, () => 0);
  const before = await writtenAt();
  await until(async () => await writtenAt() !== before);
}

describe("serve with a snapshot", () => {
  test("admits the limit over a restart in the middle of a load; without one, more", () =>
    inFolder(async (folder) => {
      assert.equal(await overARestart({ snapshot: `${folder}/counters` }), 100);
      assert.equal(await overARestart({}), 140);
      assert.deepEqual(await readdir(folder), ["counters"]);
      assert.equal((await stat(`${folder}/counters`)).mode & 0o077, 0);
    }));

  test("writes every so often, so that little is lost when the process is killed", () =>
    inFolder(async (folder) => {
      const snapshot = `${folder}/counters`;
      await withService(async (service) => {
        await admitted(service, 60);
        // A write under way holds the counters of its begin; the one after it has all of them.
        await nextWrite(snapshot);
        await nextWrite(snapshot);
        const other = await serve({ rules: oneRule("user", 100), port: 0, snapshot });
        const left = await admitted(other, 50);
        await other.stop(0);
        assert.equal(left, 40);
      }, { rules: oneRule("user", 100), snapshot, snapshotEvery: 100 });
    }));

  test("starts with a truncated snapshot, and counts its unreadable lines", () =>
    inFolder(async (folder) => {
      const snapshot = `${folder}/counters`;
      const rules = objectSource({
        domain: "shop",
        rules: [{ key: "user", limits: [{ limit: 3, period: "1h" }] }],
      });
      await withService(async (service) => {
        for (const user of ["a", "b"]) await post(service, "/v1/consume", { entries: { user } });
      }, { rules, snapshot });
      const text = await readFile(snapshot, "utf8");
      await writeFile(snapshot, `${text.slice(0, -10)}`);
      const { events, log } = logged();
      await withService(async (service) => {
        const { body } = await post(service, "/v1/peek", { entries: { user: "a" }, cost: 0 });
        assert.equal(body.remaining, 2);
      }, { rules, snapshot, log });
      const { event, level, restored, unreadable } = events.find(({ event }) =>
        event === "snapshot-read"
      )!;
      assert.deepEqual([event, level, restored, unreadable], ["snapshot-read", "warning", 1, 1]);
    }));

  testOnce(
    "starts with a file that is no snapshot, and never writes over it",
    () =>
      inFolder(async (folder) => {
        const snapshot = `${folder}/rules.yaml`;
        const foreign = "domain: shop\nrules: []\n".repeat(200) + "x".repeat(2 ** 24 + 9);
        await writeFile(snapshot, foreign);
        const { events, log } = logged();
        await withService(async (service) => {
          assert.equal(await admitted(service, 2), 2);
        }, { snapshot, log });
        assert.equal(await readFile(snapshot, "utf8"), foreign);
        const read = events.find(({ event }) => event === "snapshot-read");
        assert.deepEqual([read?.level, read?.unreadable], ["error", 401]);
      }),
  );

  test("runs on when the snapshot cannot be read or written, and says so", () =>
    inFolder(async (folder) => {
      const { events, log } = logged();
      await withService(async (service) => {
        assert.equal(await admitted(service, 1), 1);
      }, { snapshot: folder, log });
      await withService(async (service) => {
        assert.equal(await admitted(service, 1), 1);
      }, { snapshot: `${folder}/nowhere/counters`, log });
      const failures = events.filter(({ event }) => event === "snapshot-failed");
      assert.equal(failures.length, 2);
      assert.match(String(failures[1]?.error), /ENOENT/);
      await mkdir(`${folder}/closed`);
      await chmod(`${folder}/closed`, 0o500);
      if (process.getuid?.() !== 0) {
        await withService(() => Promise.resolve(), { snapshot: `${folder}/closed/counters`, log });
        assert.equal(events.filter(({ event }) => event === "snapshot-failed").length, 3);
      }
    }));

  test("needs one thread and a store that can be written", async () => {
    const rules = oneRule("user", 100);
    const store: Partial<MemoryStore> = { ...memoryStore() };
    delete store.dump;
    const bad: Partial<ServeOptions>[] = [
      { threads: 2 },
      { redis: { url: "redis://127.0.0.1:1" } },
      { snapshotEvery: 0 },
      { snapshot: "" },
    ];
    for (const options of bad) {
      const made = serve({ rules, port: 0, snapshot: "/tmp/x", ...options });
      await assert.rejects(
        made,
        (error) => error instanceof TypeError || error instanceof RangeError,
      );
    }
    await assert.rejects(serve({ rules, port: 0, snapshot: "/tmp/x", store: store as never }));
  });
});
