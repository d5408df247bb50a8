import assert from "node:assert/strict";
import { test } from "node:test";

import { startProgram } from "../support/child_process.ts";
import { rawRequest } from "../support/raw_request.ts";

const QUESTION = {
  path: "/check?from=nginx",
  lines: ["X-Original-URI: /", "X-Original-Method: GET"],
};

test(
  "npm start says where its page is, and limits each client: 200 with its fields, then 429",
  async () => {
    const service = startProgram("node", [".ci/start.mjs", "--grpc-port", "0"], { PORT: "0" });
    try {
      const [, port] = await service.line(/^Open http:\/\/localhost:(\d+)$/);
      const statuses = new Map<number, number>();
      // A burst of 20, and one more for each second that this takes.
      for (let call = 0; call < 60; call++) {
        const answer = await rawRequest(Number(port), QUESTION);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        assert.deepEqual(answer.values("ratelimit-policy"), ['"per-address";q=60;w=60']);
        if (answer.status === 200) {
          assert.match(answer.values("ratelimit").join(), /^"per-address";r=\d+;t=1$/);
          continue;
        }
        assert.match(answer.values("ratelimit").join(), /^"per-address";r=0;t=1$/);
        assert.deepEqual(answer.values("retry-after"), ["1"]);
        assert.deepEqual(answer.values("content-type"), ["application/problem+json"]);
        assert.deepEqual(JSON.parse(answer.body)["violated-policies"], ["per-address"]);
      }
      assert.deepEqual([...statuses.keys()], [200, 429]);
      assert.ok(statuses.get(200)! >= 20);
      const page = await rawRequest(Number(port));
      assert.equal(page.status, 200);
      assert.deepEqual(page.values("content-type"), ["text/html; charset=utf-8"]);
    } finally {
      await service.end("SIGINT");
    }
  },
);
