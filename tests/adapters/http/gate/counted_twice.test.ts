import express from "express";
import assert from "node:assert/strict";
import { test } from "node:test";

import { rateLimit } from "../../../../adapters/frameworks/express.ts";
import { gcra, limiter } from "../../../../mod.ts";
import { statuses, using } from "../../../support/adapter_subject.ts";
import { serveNode } from "../../../support/serve_node.ts";

test("a request that pays one limit twice is reported once, unless that is meant", async () => {
  const lines: string[] = [];
  const { warn } = console;
  console.warn = (line: string) => void lines.push(line);
  try {
    for (const countsTwice of [true, undefined]) {
      const api = limiter(gcra({ name: "api", limit: 100, period: "1h", burst: 100 }));
      const router = express.Router();
      // Another key, and another limiter, are other limits.
      router.use(rateLimit({ limiter: api, key: () => "user", countsTwice }));
      router.use(rateLimit({ limit: 100, period: "1h", countsTwice }));
      router.use(rateLimit({ limiter: api, countsTwice }));
      router.get("/", (_request, response) => void response.send("in"));
      const app = express().use(rateLimit({ limiter: api, countsTwice }), router);
      await using(await serveNode(app), async (port) => {
        assert.deepEqual(await statuses(port, 3, "/"), [200, 200, 200]);
      });
      assert.equal(lines.length, countsTwice ? 0 : 1);
    }
  } finally {
    console.warn = warn;
  }
  assert.match(
    lines[0]!,
    /^A request pays the limit "api" with the prefix "own" twice.*countsTwice/,
  );
});
