import assert from "node:assert/strict";
import { test } from "node:test";

import { objectSource } from "../../../../adapters/rules/rules.ts";
import { serve } from "../../../../adapters/service/service.ts";
import { busyClient, type Seen } from "../support/busy_client.ts";
import { get, SHOP, until } from "../support/running.ts";

test("40 busy clients that keep connections see no reset when a service of 2 threads ends", async () => {
  const start = (threads: number, drainDelay: number) =>
    serve({ rules: objectSource(SHOP), port: 0, threads, drainDelay });
  // The time is so long that even a busy machine asks for the answers before it is over.
  const leaving = await start(2, 1_500);
  const staying = await start(1, 0);
  const ports = [leaving.port, staying.port];
  const seen: Seen = { answers: 0, ends: 0, lost: [] };
  let isOver = false;
  const clients = Array.from({ length: 40 }, () => busyClient(ports, () => isOver, seen));
  const answered = (more: number) => {
    const enough = seen.answers + more;
    return until(() => seen.answers >= enough);
  };
  try {
    await answered(400);
    const stopped = leaving.stop();
    while ((await get(leaving, "/readyz")).status !== 503);
    assert.equal((await get(leaving, "/healthz")).status, 200, "it still answers");
    await stopped;
    await answered(400);
    await assert.rejects(get(leaving, "/healthz"));
  } finally {
    isOver = true;
    await Promise.all(clients);
    await staying.stop(500);
  }
  assert.deepEqual(seen.lost, []);
  assert.ok(seen.ends >= 1, "clients are asked to leave");
});
