import assert from "node:assert/strict";
import { renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { fileSource, objectSource } from "../../../../adapters/rules/rules.ts";
import { serve, type ServeOptions, type Service } from "../../../../adapters/service/service.ts";
import { inFolder } from "../../../support/in_folder.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { freePort } from "../../../support/redis/free_port.ts";
import { isLong } from "../../../support/seed.ts";
import { get, oneRule, post, until, withService } from "../support/running.ts";

const LIMIT = isLong() ? 200 : 100;

const rules = () => oneRule("user", LIMIT);

/** How many threads; what a runtime says no more about than another one is tried on one of them. */
const THREADS = [1, 2];

/** Asks so often, over many connections; counts the admitted. */
async function admitted(service: Service, times: number): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: times }, async () => {
      const { status, body } = await post(service, "/v1/consume", { entries: { user: "42" } }, {
        connection: "close",
      });
      assert.equal(status, 200);
      return body.allowed as boolean;
    }),
  );
  return answers.filter(Boolean).length;
}

async function assertExact(options: Partial<ServeOptions>, threads: number): Promise<void> {
  await withService(async (service) => {
    assert.equal(await admitted(service, 2 * LIMIT), LIMIT);
    const { body } = await get(service, "/metrics");
    for (
      const line of [
        `tidegate_decisions_total{domain="shop",rule="user",verdict="admitted"} ${LIMIT}`,
        `tidegate_decisions_total{domain="shop",rule="user",verdict="refused"} ${LIMIT}`,
        `tidegate_calls_total{route="/v1/consume",status="200"} ${2 * LIMIT}`,
        `tidegate_threads ${threads}`,
      ]
    ) {
      assert.ok(body.split("\n").includes(line), `${line} in\n${body}`);
    }
    assert.match(body, /^tidegate_loop_delay_seconds_count \d+$/m);
    if (options.redis === undefined) assert.match(body, /^tidegate_store_keys 1$/m);
    else {
      const value = (name: string) =>
        Number(new RegExp(`^tidegate_redis_${name} (\\d+)$`, "m").exec(body)?.[1]);
      assert.ok(value("connections_total") >= threads, body);
      assert.equal(value("decisions_total"), 2 * LIMIT);
      // By script a batch is one command.
      assert.ok(value("commands_total") >= value("round_trip_seconds_count"), body);
      assert.ok(value("round_trip_seconds_count") >= value("batches_total"), body);
      assert.ok(value("conflicts_total") >= 0);
      assert.match(body, /^# TYPE tidegate_redis_commands_total counter$/m);
      assert.match(body, /^tidegate_redis_round_trip_seconds_bucket\{le="\+Inf"\} \d+$/m);
    }
    const live = (await get(service, "/v1/live?search=USER")).body;
    const hour = (verdicts: Readonly<Record<string, readonly number[]>>) =>
      ["admitted", "refused"].map((name) => verdicts[name]!.reduce((sum, each) => sum + each));
    assert.deepEqual(hour(live.history), [LIMIT, LIMIT]);
    assert.deepEqual(hour(live.rules[0].history), [LIMIT, LIMIT]);
    const { key, used, refused } = live.keys[0];
    assert.deepEqual([key, used, refused], ["user=42", LIMIT, LIMIT]);
    assert.deepEqual((await get(service, "/v1/live?search=nobody")).body.keys, []);
  }, { rules: rules(), threads, ...options });
}

describe("2 threads over the shared store", () => {
  test("admit exactly the limit, and count together", () => assertExact({}, 2));

  test(
    "start on no port that another service has, though its threads share it",
    () =>
      withService(async ({ port }) => {
        const second = withService(() => Promise.resolve(), { rules: rules(), threads: 2, port });
        await assert.rejects(second, /EADDRINUSE/);
      }, { rules: rules(), threads: 2 }),
  );

  test("start on one port once, where services do so at the same instant", async () => {
    const port = await freePort();
    const start = async (after = 0) => {
      await new Promise((resolve) => setTimeout(resolve, after));
      return await serve({ rules: rules(), threads: 2, port });
    };
    // A service looks at once whether its port is free, and its threads listen some time later.
    const started = await Promise.allSettled([0, 10, 30].map(start));
    const services = started.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
    const reasons = started.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
    for (const service of services) await service.stop(0);
    assert.equal(services.length, 1);
    for (const reason of reasons) assert.match(String(reason), /EADDRINUSE/);
    await (await start()).stop(0);
  });

  test("keep the use under a changed limit", () => {
    const file = (limit: number) => ({
      domain: "shop",
      rules: [{ key: "user", limits: [{ limit, period: "1d" as const, burst: limit }] }],
    });
    const source = objectSource(file(100));
    return withService(async (service) => {
      await post(service, "/v1/consume", { entries: { user: "42" }, cost: 100 });
      source.set(file(110));
      await service.reload();
      const ask = (cost: number) =>
        post(service, "/v1/consume", { entries: { user: "42" }, cost }, { connection: "close" });
      // Both threads have the new limit once a row of answers shows it.
      for (let row = 0; row < 20; row++) if ((await ask(0)).body.limit !== 110) row = -1;
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(1)));
      assert.equal(answers.filter(({ body }) => body.allowed).length, 10);
    }, { threads: 2, rules: source });
  });

  for (const threads of THREADS) {
    test(`share limits of keys of their own, which a method looks up (threads: ${threads})`, () =>
      withService(async (service) => {
        const verdicts = [];
        for (let times = 0; times < 4; times++) {
          const { body } = await post(service, "/v1/consume", { entries: { user: "42" } }, {
            connection: "close",
          });
          verdicts.push(body.allowed);
        }
        assert.deepEqual(verdicts, [true, true, true, false]);
      }, { threads, rules: sourceOfLimits("user=42", 3) }));
  }
});

/** A source that itself looks up the limits of a key. */
function sourceOfLimits(own: string, limit: number) {
  return {
    ...oneRule("user", 1, [], { lookup: "wait" }),
    limits: [{ limit, period: "1d", burst: limit }] as const,
    async lookup(_domain: string, key: string) {
      return await Promise.resolve(key === own ? this.limits : undefined);
    },
  };
}

withRedis("2 threads over Redis", (redis) => {
  test("admit exactly the limit, and count together", () =>
    assertExact({ redis: { url: redis().url, deadline: 10_000 } }, 2));
});

/** How many patterns a large file has. */
const PATTERNS = isLong() ? 10_000 : 2_500;

/** A path of the last of them. */
const PATH = `/v1/${PATTERNS - 1}/a`;

/** A file of rules with that many patterns. */
const LARGE = (period: string) =>
  "domain: shop\nrules:\n" +
  Array.from(
    { length: PATTERNS },
    (_, index) =>
      `  - { key: path, value: "/v1/${index}/*", limits: [{ limit: 9, period: ${period}, burst: 9 }] }\n`,
  ).join("") + "...\n";

for (const threads of isLong() ? [1, 2] : [1]) {
  const name = `calls are answered while ${PATTERNS} rules are loaded, on ${threads} of threads`;
  test(
    name,
    async () => {
      let text = LARGE("1h");
      const rules = {
        name: "text",
        load: () => Promise.resolve([{ name: "rules.yaml", text }]),
      };
      await withService(async (service) => {
        text = LARGE("1d");
        let loading = true;
        const loaded = service.reload().finally(() => loading = false);
        let answers = 0;
        while (loading) {
          await post(service, "/v1/consume", { entries: { path: PATH } });
          answers++;
        }
        assert.equal(await loaded, true);
        // One that waits for the rules would be answered once, or twice.
        assert.ok(answers > 20, `only ${answers} answers`);
        const ask = async () => {
          const { body } = await post(service, "/v1/peek", { entries: { path: PATH } });
          return body.resetAfter;
        };
        while (await ask() <= 3_600_000);
      }, { rules, threads });
    },
  );
}

describe("a reload under load", () => {
  /**
   * Two versions of rules that a request meets in two of its descriptors. Whoever saw one rule of
   * one version and one of the other would show it by the names.
   */
  const version = (name: string) =>
    `domain: shop
rules:
  - { key: user, name: user-${name}, limits: [{ limit: ${
      name === "a" ? 1_000_000 : 2_000_000
    }, period: 1h, burst: 9 }] }
  - { key: plan, name: plan-${name}, limits: [{ limit: ${
      name === "a" ? 3_000_000 : 4_000_000
    }, period: 1h, burst: 9 }] }
...
`;

  const bomb = `a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [${"*a, ".repeat(20)}]\nc: [${
    "*b, ".repeat(20)
  }]\n...\n`;

  /** Faults of a rule file. After each the old rules must hold. */
  const FAULTS: readonly ((file: string) => void)[] = [
    (file) => writeFileSync(file, ""),
    (file) => rmSync(file),
    (file) => writeFileSync(file, version("b").slice(0, 70)),
    (file) => replaceFile(file, version("b").replace("user", "usr:")),
    (file) => writeFileSync(file, bomb),
    (file) => truncateSync(file, 100 * 2 ** 20),
  ];

  function replaceFile(file: string, text: string): void {
    writeFileSync(`${file}.next`, text);
    renameSync(`${file}.next`, file);
  }

  /** How often all of it happens. */
  const ROUNDS = isLong() ? 3 : 1;

  for (const threads of THREADS) {
    test(`on ${threads} thread${threads > 1 ? "s" : ""}: no request fails, and none sees half of a configuration`, () =>
      inFolder(async (folder) => {
        const file = join(folder, "rules.yaml");
        let loads = 0;
        const refusals = new Set<string>();
        writeFileSync(file, version("a"));
        const source = fileSource(file, { pollEvery: 20, settle: 1 });
        await withService(async (service) => {
          const seen = new Map<string, number>();
          let running = true;
          let answers = 0;
          const request = { descriptors: [{ entries: { user: "1" } }, { entries: { plan: "p" } }] };
          const clients = Array.from({ length: 8 }, async () => {
            while (running) {
              const { status, body } = await post(service, "/v1/consume", Array(5).fill(request));
              assert.equal(status, 200);
              answers++;
              for (const { rules } of body) {
                const names = rules.map(({ rule }: { rule: string }) => rule).join(" ");
                seen.set(names, (seen.get(names) ?? 0) + 1);
              }
            }
          });
          for (let turn = 0; turn < 8 * ROUNDS; turn++) {
            const fault = FAULTS[turn % 8];
            if (fault !== undefined) fault(file);
            else if (turn % 2 === 0) writeFileSync(file, version("a"));
            else replaceFile(file, version("b"));
            await service.reload();
            const enough = answers + 16;
            await until(() => answers >= enough);
          }
          running = false;
          await Promise.all(clients);
          assert.deepEqual([...seen.keys()].sort(), ["user-a plan-a", "user-b plan-b"]);
          const { body } = await get(service, "/metrics");
          assert.doesNotMatch(body, /status="(4|5)/);
        }, {
          rules: source,
          threads,
          log: ({ event, reason }) => {
            if (event === "rules-loaded") loads++;
            else if (event === "rules-refused") refusals.add(String(reason));
          },
        });
        assert.ok(loads >= 2 * ROUNDS, `only ${loads} loads`);
        assert.ok(refusals.size >= 5, `only ${[...refusals].join("; ")}`);
      }));
  }
});
