import assert from "node:assert/strict";
import { Agent, get } from "node:http";
import { test } from "node:test";

import { startProgram } from "../../support/child_process.ts";
import { runtime } from "../../support/runtime.ts";
import { isLong } from "../../support/seed.ts";

const REQUESTS = isLong() ? 20_000 : 1_500;
const CONNECTIONS = 64;
const LIMIT = 1_000;

/** Deno's node:http shares no port. */
const OWN = { bun: ["bun"], deno: [], node: ["node"] } as const;

test("4 threads on one port answer 200 exactly as often as the limit says", async () => {
  for (const program of isLong() ? ["bun", "node"] : OWN[runtime()]) {
    const server = startProgram(program, ["tests/stores/shared/support/port_server.ts"], {
      THREADS: "4",
      LIMIT: String(LIMIT),
    });
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    try {
      const [, port] = await server.line(/^port (\d+)$/);
      const counts = new Map<number, number>();
      let left = REQUESTS;
      const connection = async () => {
        while (left-- > 0) {
          const status = await statusOf(Number(port), agent);
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, connection));
      assert.deepEqual([counts.get(200), counts.get(429)], [LIMIT, REQUESTS - LIMIT]);
    } finally {
      agent.destroy();
      await server.end("SIGKILL");
    }
  }
});

function statusOf(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, agent }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    }).on("error", reject);
  });
}
