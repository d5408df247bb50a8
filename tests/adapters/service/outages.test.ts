import assert from "node:assert/strict";
import { test } from "node:test";

import type { LogEvent } from "../../../adapters/service/service.ts";
import { needs } from "../../support/program.ts";
import { startRedis } from "../../support/redis/redis_process.ts";
import { get, oneRule, post, until, withService } from "./support/running.ts";

const POLICIES = [
  ["allow", 200, /Calls are admitted|"policy":"allow"/],
  ["deny", 200, /"policy":"deny"/],
  [undefined, 503, /"policy":"throw"/],
] as const;

for (const [onUnavailable, status, shown] of POLICIES) {
  test(
    `an outage of Redis is reported from its beginning to its end, if calls are to ${
      onUnavailable ?? "throw"
    }`,
    needs("redis-server"),
    async () => {
      const redis = await startRedis();
      const events: LogEvent[] = [];
      const named = (name: string) => events.filter(({ event }) => event === name);
      const ask = (service: { url: string }) =>
        post(service, "/v1/consume", { entries: { user: "a" } });
      try {
        await withService(async (service) => {
          assert.equal((await ask(service)).body.remaining, 999);
          assert.match(
            (await get(service, "/readyz")).body,
            /^ready\nrules [\da-f]{12} since .*Z\n$/,
          );
          assert.match((await get(service, "/metrics")).body, /tidegate_outage 0\n/);
          await redis.kill();
          const answer = await ask(service);
          assert.equal(answer.status, status);
          await ask(service);
          assert.equal(named("store-unavailable").length, 1);
          const ready = await get(service, "/readyz");
          assert.equal(ready.status, 200);
          assert.match(ready.body, /^ready\nrules .*\nthe store has not answered since .*Z\n$/);
          assert.equal((await get(service, "/readyz?store=required")).status, 503);
          const { body: metrics } = await get(service, "/metrics");
          assert.match(metrics, /tidegate_outage 1\n/);
          const undecided = onUnavailable === undefined ? 0 : 2;
          assert.match(metrics, new RegExp(`verdict="unavailable"} ${undecided}\n`));
          assert.match(metrics, /verdict="admitted"} 1\n/);
          assert.match(metrics, /verdict="refused"} 0\n/);
          const { body: live } = await get(service, "/v1/live");
          assert.match(JSON.stringify(live.outage), shown);
          assert.equal(live.decisions.unavailable, undecided);
          await redis.restart();
          await until(async () => {
            await ask(service);
            return named("store-available").length === 1;
          });
          assert.equal(named("store-unavailable").length, 1);
          assert.match((await get(service, "/readyz?store=required")).body, /^ready\nrules .*\n$/);
          assert.equal((await get(service, "/v1/live")).body.outage, null);
        }, {
          rules: oneRule("user", 1_000),
          // A server that is away refuses connections at once. A busy machine has time to make one.
          redis: { url: redis.url, onUnavailable, deadline: 10_000 },
          log: (event) => events.push(event),
        });
      } finally {
        await redis.stop();
      }
    },
  );
}

test("a proxy that is not trusted, names no client or no path, is reported once", async () => {
  const events: LogEvent[] = [];
  const log = (event: LogEvent) => void events.push(event);
  const rules = oneRule("address", 1_000, [{ descriptors: [{ address: "{address}" }] }]);
  const said = () =>
    events.filter(({ event }) => event.startsWith("proxy-")).map(({ event }) => event);
  const path = { "x-original-uri": "/" };
  const client = { "x-forwarded-for": "203.0.113.7" };
  await withService(async (service) => {
    await get(service, "/check?from=nginx", { ...path, ...client });
    assert.deepEqual(said(), []);
    await get(service, "/check?from=nginx", client);
    await get(service, "/check?from=nginx", path);
    await get(service, "/check?from=nginx");
    assert.deepEqual(said(), ["proxy-no-path", "proxy-no-client"]);
  }, { rules, log });
  events.length = 0;
  await withService(async (service) => {
    await get(service, "/check?from=nginx", path);
    assert.deepEqual(said(), []);
    for (let times = 0; times < 3; times++) {
      await get(service, "/check?from=nginx", { ...path, ...client });
    }
    assert.deepEqual(said(), ["proxy-untrusted"]);
  }, { rules, log, trustedProxies: ["192.0.2.0/24"] });
});
