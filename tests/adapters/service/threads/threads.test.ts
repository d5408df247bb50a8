import assert from "node:assert/strict";
import { renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { fileSource, objectSource, type RuleFile } from "../../../../adapters/rules/rules.ts";
import { takePort } from "../../../../adapters/service/http/shared_port.ts";
import type { Service } from "../../../../adapters/service/service.ts";
import { inFolder } from "../../../support/in_folder.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { freePort } from "../../../support/redis/free_port.ts";
import { isLong } from "../../../support/seed.ts";
import { get, post, until, withService } from "../support/running.ts";

const LIMIT = isLong() ? 200 : 100;

/** Milliseconds between two calls of one client, which leave the processor to what is tried. */
const PAUSE = 2;

/** Rules of a user, and of a member, whose limits a lookup knows. */
function rulesOf(limit: number): RuleFile {
  const limits = [{ limit, period: "1d", burst: limit }] as const;
  return {
    domain: "shop",
    rules: [{ key: "user", limits }, { key: "member", limits, lookup: "wait" }],
  };
}

/** Asks so often, over many connections; the answers. */
async function ask(service: Service, times: number, entries: object = { user: "42" }) {
  const answers = await Promise.all(
    Array.from(
      { length: times },
      () => post(service, "/v1/consume", { entries }, { connection: "close" }),
    ),
  );
  for (const { status } of answers) assert.equal(status, 200);
  return answers.map(({ body }) => body);
}

const admitted = (bodies: readonly { readonly allowed: boolean }[]) =>
  bodies.filter(({ allowed }) => allowed).length;

/** Asks for twice the limit, and finds the counts of all threads in the metrics and on the page. */
async function assertExact(service: Service, threads: number, redis: boolean): Promise<void> {
  assert.equal(admitted(await ask(service, 2 * LIMIT)), LIMIT);
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
  if (!redis) assert.match(body, /^tidegate_store_keys 1$/m);
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
}

test("2 threads over the shared store admit exactly the limit, share a key's own limits, keep the use under a changed limit and their port to themselves", () => {
  const source = objectSource(rulesOf(LIMIT), function lookup(_domain, key) {
    const limits = [{ limit: 3, period: "1d", burst: 3 }] as const;
    return Promise.resolve(key === "member=7" ? limits : undefined);
  });
  return withService(async (service) => {
    await assertExact(service, 2, false);
    assert.equal(admitted(await ask(service, 4, { member: "7" })), 3);
    source.set(rulesOf(LIMIT + 10));
    await service.reload();
    // Both threads have the new limit once a row of answers shows it.
    for (let row = 0; row < 20; row++) {
      const { body } = await post(service, "/v1/peek", { entries: { user: "42" } }, {
        connection: "close",
      });
      if (body.limit !== LIMIT + 10) row = -1;
    }
    assert.equal(admitted(await ask(service, 20)), 10);
    const second = withService(() => Promise.resolve(), { threads: 2, port: service.port });
    await assert.rejects(second, /EADDRINUSE/);
  }, { threads: 2, rules: source });
});

test("a port is taken once, where several take it at the same instant, until it is given up", async () => {
  const port = await freePort();
  const take = async (after: number) => {
    await new Promise((resolve) => setTimeout(resolve, after));
    return await takePort("127.0.0.1", port);
  };
  const taken = await Promise.allSettled([0, 0, 5].map(take));
  const releases = taken.flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
  const reasons = taken.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
  assert.equal(releases.length, 1);
  for (const reason of reasons) assert.match(String(reason), /EADDRINUSE/);
  await releases[0]!();
  await (await take(0))();
});

withRedis("2 threads over Redis", (redis) => {
  test("admit exactly the limit, and count together", () =>
    withService((service) => assertExact(service, 2, true), {
      rules: objectSource(rulesOf(LIMIT)),
      threads: 2,
      redis: { url: redis().url, deadline: 10_000 },
    }));
});

/** How many patterns a large file has. */
const PATTERNS = isLong() ? 10_000 : 1_000;

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

test(`calls are answered while ${PATTERNS} rules are loaded`, async () => {
  let text = LARGE("1h");
  const rules = { name: "text", load: () => Promise.resolve([{ name: "rules.yaml", text }]) };
  await withService(async (service) => {
    text = LARGE("1d");
    let loading = true;
    const loaded = service.reload().finally(() => loading = false);
    let answers = 0;
    while (loading) {
      await post(service, "/v1/consume", { entries: { path: PATH } });
      answers++;
      await sleep(PAUSE);
    }
    assert.equal(await loaded, true);
    // One that waits for the rules would be answered once, or twice.
    assert.ok(answers > 20, `only ${answers} answers`);
    const { body } = await post(service, "/v1/peek", { entries: { path: PATH } });
    assert.ok(body.resetAfter > 3_600_000);
  }, { rules });
});

/**
 * Two versions of rules that a request meets in two of its descriptors. Whoever saw one rule of one
 * version and one of the other would show it by the names.
 */
const version = (name: "a" | "b") => {
  const rules = ["user", "plan"].map((key, index) =>
    `  - { key: ${key}, name: ${key}-${name}, limits: [{ limit: ${
      (index * 2 + (name === "a" ? 1 : 2)) * 1_000_000
    }, period: 1h, burst: 9 }] }\n`
  );
  return `domain: shop\nrules:\n${rules.join("")}...\n`;
};

const BOMB = `a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [${"*a, ".repeat(20)}]\nc: [${
  "*b, ".repeat(20)
}]\n...\n`;

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
}

/** Changes of a rule file. After each of the first six, which are faults, the old rules must hold. */
const CHANGES: readonly ((file: string) => void)[] = [
  (file) => writeFileSync(file, ""),
  (file) => rmSync(file),
  (file) => writeFileSync(file, version("b").slice(0, 70)),
  (file) => replaceFile(file, version("b").replace("user", "usr:")),
  (file) => writeFileSync(file, BOMB),
  (file) => truncateSync(file, 100 * 2 ** 20),
  (file) => writeFileSync(file, version("a")),
  (file) => replaceFile(file, version("b")),
];

test("a reload under load, on 2 threads: no request fails, and none sees half of a configuration", () =>
  inFolder(async (folder) => {
    const file = join(folder, "rules.yaml");
    const rounds = isLong() ? 3 : 1;
    let loads = 0;
    const refusals = new Set<string>();
    writeFileSync(file, version("a"));
    await withService(async (service) => {
      const seen = new Set<string>();
      let running = true;
      let answers = 0;
      const request = { descriptors: [{ entries: { user: "1" } }, { entries: { plan: "p" } }] };
      const clients = Array.from({ length: 8 }, async () => {
        while (running) {
          const { status, body } = await post(service, "/v1/consume", Array(5).fill(request));
          assert.equal(status, 200);
          answers++;
          for (const { rules } of body) {
            seen.add(rules.map(({ rule }: { rule: string }) => rule).join(" "));
          }
          await sleep(PAUSE);
        }
      });
      for (let turn = 0; turn < 8 * rounds; turn++) {
        CHANGES[turn % 8]!(file);
        await service.reload();
        const enough = answers + 16;
        await until(() => answers >= enough);
      }
      running = false;
      await Promise.all(clients);
      assert.deepEqual([...seen].sort(), ["user-a plan-a", "user-b plan-b"]);
      const { body } = await get(service, "/metrics");
      assert.doesNotMatch(body, /status="(4|5)/);
    }, {
      rules: fileSource(file, { pollEvery: 20, settle: 1 }),
      threads: 2,
      log: ({ event, reason }) => {
        if (event === "rules-loaded") loads++;
        else if (event === "rules-refused") refusals.add(String(reason));
      },
    });
    assert.ok(loads >= 2 * rounds, `only ${loads} loads`);
    assert.ok(refusals.size >= 5, `only ${[...refusals].join("; ")}`);
  }));
