import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import * as Effect from "effect/Effect";

import { layerMemory, RateLimiter } from "../../../adapters/effect/effect.ts";
import { honoRateLimiterStore } from "../../../adapters/frameworks/hono.ts";
import { gate } from "../../../adapters/http/http.ts";
import { objectSource, ruleEngine } from "../../../adapters/rules/rules.ts";
import { serve } from "../../../adapters/service/service.ts";
import { gcra, limiter, memoryStore } from "../../../mod.ts";

const LIMIT = gcra({ limit: 1, period: "1m", burst: 1 });
const RULES = {
  domain: "shop",
  rules: [{ key: "user", limits: [{ limit: 1, period: "1m", burst: 1 }] }],
} as const;

/** All functions that make a memory store for their caller, and a service that is given one. */
const MAKERS: Readonly<Record<string, () => unknown>> = {
  limiter: () => limiter(LIMIT),
  gate: () =>
    gate({ policy: () => LIMIT }, {
      address: () => "",
      header: () => null,
      signal: () => undefined,
    }),
  ruleEngine: () => ruleEngine({ rules: RULES }),
  "store of hits": () => honoRateLimiterStore(),
  layerMemory: () => Effect.runPromise(Effect.provide(RateLimiter, layerMemory())),
  service: () =>
    serve({
      rules: objectSource(RULES),
      store: memoryStore({ perProcess: true }),
      port: 0,
      log: () => {},
    }).then((service) => service.stop()),
};

process.env["NODE_APP_INSTANCE"] = "1";
const warnings: string[] = [];
console.warn = (text: string) => void warnings.push(text);
const make = MAKERS[workerData as string]!;
try {
  await make();
  await make();
} finally {
  // Deno has one environment for all threads.
  delete process.env["NODE_APP_INSTANCE"];
}
parentPort!.postMessage(warnings);
