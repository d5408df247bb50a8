import assert from "node:assert/strict";
import { test } from "node:test";

import * as elysia from "../../../adapters/frameworks/elysia.ts";
import * as express from "../../../adapters/frameworks/express.ts";
import * as fastify from "../../../adapters/frameworks/fastify.ts";
import * as hono from "../../../adapters/frameworks/hono.ts";
import * as http from "../../../adapters/http/http.ts";
import * as node from "../../../adapters/frameworks/node.ts";

const MAKERS = {
  elysia: elysia.rateLimit,
  express: express.rateLimit,
  fastify: fastify.rateLimit,
  "fastify's hook": fastify.rateLimitHook,
  hono: hono.rateLimit,
  http: http.rateLimit,
  node: node.rateLimit,
} as const;

for (const [name, make] of Object.entries(MAKERS)) {
  test(`options that are none are told of by ${name}`, () => {
    for (const options of [undefined, null, 5]) {
      assert.throws(() => (make as (options: unknown) => unknown)(options), {
        name: "TypeError",
        message: `Cannot create rateLimit as its options must be an object: current value is ${
          String(options)
        }`,
      });
    }
  });
}
