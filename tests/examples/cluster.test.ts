import assert from "node:assert/strict";
import { test } from "node:test";
import { join } from "node:path";

import { startProgram } from "../support/child_process.ts";
import { inFolder } from "../support/in_folder.ts";
import { rawRequest } from "../support/raw_request.ts";

test(
  "the example with node:cluster admits exactly the limit over all workers",
  () =>
    inFolder(async (folder) => {
      const server = startProgram("node", ["examples/cluster.ts"], {
        PORT: "0",
        LIMITS: join(folder, "limits.db"),
      });
      try {
        const [, port = ""] = await server.line(/^Listening on http:\/\/127\.0\.0\.1:(\d+)\/$/);
        const statuses: Record<number, number> = {};
        const workers = new Set<string>();
        for (let call = 0; call < 90; call++) {
          const { status, body } = await rawRequest(Number(port));
          statuses[status] = (statuses[status] ?? 0) + 1;
          const [, worker] = /worker (\d)/.exec(body) ?? [];
          if (worker !== undefined) workers.add(worker);
        }
        assert.deepEqual(statuses, { 200: 60, 429: 30 });
        assert.equal(workers.size, 4);
      } finally {
        assert.equal(await server.end("SIGTERM"), 0);
      }
    }),
);
