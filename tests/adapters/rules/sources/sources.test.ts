import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import {
  fileSource,
  followRules,
  type RedisRulesClient,
  redisSource,
  type RedisSourceOptions,
  ruleEngine,
  type RulesEvent,
  type RuleSource,
  type Verdict,
} from "../../../../adapters/rules/rules.ts";
import { inFolder } from "../../../support/in_folder.ts";
import { withRedis } from "../../../support/redis/with_redis.ts";
import { newClient } from "../../../support/redis/new_client.ts";

const REQUEST = { domain: "shop", descriptors: [{ entries: [["user", "42"]] }] } as const;

/** A file with one rule. */
function rulesOf(limit: number, domain = "shop"): string {
  return `domain: ${domain}
rules:
  - key: user
    limits: [{ limit: ${limit}, period: 1h, burst: ${limit} }]
  - key: address
    unlimited: true
...
`;
}

/** An engine that follows a source, and its events. */
async function following(source: RuleSource) {
  const engine = ruleEngine({ lookup: source.lookup });
  const events: RulesEvent[] = [];
  const wake = new Set<() => void>();
  const followed = await followRules(source, {
    apply: (rules) => engine.replace(rules),
    onEvent(event) {
      events.push(event);
      wake.forEach((look) => look());
    },
    onLimitsChanged: () => engine.forgetLookups(),
  });
  return {
    followed,
    events,
    engine,
    limit: () => (engine.peek(REQUEST) as Verdict).decision?.limit,
    /** Waits for an event that fits; the suite's own time limit ends a wait in vain. */
    seen(fits: (event: RulesEvent) => boolean): Promise<RulesEvent> {
      return new Promise((resolve) => {
        function look(): void {
          const found = events.find(fits);
          if (found === undefined) return;
          wake.delete(look);
          resolve(found);
        }
        wake.add(look);
        look();
      });
    },
  };
}

/** How many rules each load had. */
const loads = (events: readonly RulesEvent[]) =>
  events.flatMap((event) => event.event === "rules-loaded" ? event.rules : []);
const refused = (reason: RegExp) => (event: RulesEvent) =>
  event.event === "rules-refused" && reason.test(event.reason);

/** Rules that are followed, and what else a test needs of their source. */
type Followed<More> = Awaited<ReturnType<typeof following>> & Readonly<More>;

/** A file with these rules, which is followed for as long as the work takes. */
function followingFile(
  text: string,
  work: (state: Followed<{ file: string; folder: string }>) => Promise<void>,
  options: Parameters<typeof fileSource>[1] = {},
): Promise<void> {
  return inFolder(async (folder) => {
    const file = join(folder, "rules.yaml");
    writeFileSync(file, text);
    const state = await following(fileSource(file, options));
    await work({ ...state, file, folder });
    await state.followed.close();
  });
}

describe("a file", () => {
  const quick = { pollEvery: 50, settle: 10 };

  test("that is changed in place, or replaced by another, changes the rules", () =>
    followingFile(rulesOf(10), async ({ file, folder, limit, seen }) => {
      assert.equal(limit(), 10);
      writeFileSync(file, rulesOf(20) + "\n");
      await seen((event) => event.event === "rules-loaded" && limit() === 20);
      writeFileSync(join(folder, "next"), rulesOf(30));
      renameSync(join(folder, "next"), file);
      await seen((event) => event.event === "rules-loaded" && limit() === 30);
    }, quick));

  const HUGE = 100 * 2 ** 20;
  const broken: readonly [name: string, text: string | undefined, reason: RegExp][] = [
    ["disappears", undefined, /ENOENT|No such file/],
    ["is emptied", "", /rules.yaml must not end where its earlier version went on/],
    ["is cut off where it is still valid", rulesOf(99).slice(0, 60), /may have been cut off/],
    ["is cut off within a number", rulesOf(99).split("9, ")[0]!, /may have been cut off/],
    ["is malformed", rulesOf(10).replace("limits", "limit"), /4:5: error: .*unknown key "limit"/],
    ["holds 100 MB", "#".repeat(HUGE), /must be at most 4194304 bytes long/],
    ["holds bytes that are no text", "\xff\xfe".repeat(10), /./],
  ];
  for (const [name, text, reason] of broken) {
    test(
      `that ${name} leaves the old rules in place, and says why`,
      () =>
        followingFile(rulesOf(10), async ({ file, limit, seen }) => {
          if (text === undefined) rmSync(file);
          else writeFileSync(file, text, "latin1");
          await seen(refused(reason));
          assert.equal(limit(), 10);
          writeFileSync(file, rulesOf(11));
          await seen((event) => event.event === "rules-loaded" && limit() === 11);
        }, quick),
    );
  }

  const open = rulesOf(10).replace(/\.\.\.\s*$/, "");

  test("that never had an end mark is not accepted when shorter, until it says that this is meant", () => {
    const shorter = `${open}  - key: agent\n    blocked: true\n`;
    const whole = `${shorter}  - key: device\n    blocked: true\n`;
    return followingFile(whole, async ({ file, events, followed }) => {
      for (const text of [shorter, `${shorter}\n\n`, whole.slice(0, -9), ""]) {
        writeFileSync(file, text);
        assert.equal(await followed.reload(), false, text);
      }
      writeFileSync(file, `${shorter}...\n`);
      assert.equal(await followed.reload(), true);
      assert.deepEqual(loads(events), [4, 3]);
    });
  });

  test("that lacks a rule in its middle is accepted", () =>
    followingFile(open, async ({ file, limit, followed }) => {
      writeFileSync(file, open.replace(/ {2}- key: user\n.*\n/, ""));
      assert.equal(await followed.reload(), true);
      assert.equal(limit(), undefined);
    }));

  test("that is being written is not read half-finished", () =>
    followingFile(
      open,
      async ({ file, events, limit, followed }) => {
        // Each half is valid, and no beginning of what there was.
        const [first, ...rest] = [
          "# new\n" + rulesOf(30).replace(/\.\.\.\s*$/, ""),
          "  - key: a\n",
          "    blocked: true\n",
        ];
        writeFileSync(file, first!);
        // The clock stands still until the last half is there, however slow the machine is.
        const clock = Date.now;
        Date.now = () => statSync(file).mtimeMs;
        const loading = followed.reload();
        try {
          for (const part of rest) {
            await new Promise((resolve) => setTimeout(resolve, 30));
            appendFileSync(file, part);
          }
        } finally {
          Date.now = clock;
        }
        assert.equal(await loading, true);
        assert.equal(limit(), 30);
        assert.deepEqual(loads(events), [2, 3]);
      },
      { settle: 600 },
    ));

  test("that cannot be used at the start is an error that says why", () =>
    inFolder(async (folder) => {
      const file = join(folder, "rules.yaml");
      await assert.rejects(following(fileSource(file)), /Cannot load rules from .*rules.yaml/);
      writeFileSync(file, "domain: shop\n");
      await assert.rejects(following(fileSource(file)), /rules is required here/);
    }));

  test("that is a pipe is an error, rather than a wait for its writer", () =>
    inFolder(async (folder) => {
      const file = join(folder, "rules.yaml");
      execFileSync("mkfifo", [file]);
      await assert.rejects(following(fileSource(file)), /rules.yaml must be a regular file/);
    }));

  test("that stays broken is reported once", () =>
    followingFile(rulesOf(10), async ({ file, events, followed }) => {
      writeFileSync(file, "nonsense\n...\n");
      for (let times = 0; times < 3; times++) assert.equal(await followed.reload(), false);
      assert.equal(events.filter(({ event }) => event === "rules-refused").length, 1);
    }));

  test("that is repaired says so, even if it has its old text", () =>
    followingFile(rulesOf(10), async ({ file, events, followed }) => {
      writeFileSync(file, "nonsense\n...\n");
      assert.equal(await followed.reload(), false);
      writeFileSync(file, rulesOf(10));
      for (let times = 0; times < 2; times++) assert.equal(await followed.reload(), true);
      assert.deepEqual(loads(events), [2, 2]);
      assert.equal(events.at(-1)!.event, "rules-loaded");
    }));
});

describe("a folder", () => {
  test("is one configuration: a file that comes or goes changes it as a whole", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, "a.yaml"), rulesOf(10));
      writeFileSync(join(folder, "notes.txt"), "not rules");
      const { engine, events, followed } = await following(fileSource(folder));
      assert.deepEqual([...engine.rules.domains.keys()], ["shop"]);
      writeFileSync(join(folder, "b.json"), JSON.stringify({ domain: "api", rules: [] }));
      assert.equal(await followed.reload(), true);
      assert.deepEqual([...engine.rules.domains.keys()], ["shop", "api"]);
      writeFileSync(join(folder, "c.yaml"), rulesOf(1, "api"));
      assert.equal(await followed.reload(), false);
      assert.ok(events.some(refused(/c.yaml:1:9: error: domain: duplicate domain 'api'/)));
      assert.deepEqual([...engine.rules.domains.keys()], ["shop", "api"]);
      rmSync(join(folder, "c.yaml"));
      rmSync(join(folder, "a.yaml"));
      assert.equal(await followed.reload(), true);
      assert.deepEqual([...engine.rules.domains.keys()], ["api"]);
      await followed.close();
    }));
});

test("a source is closed where its first load fails, and is not waited for where it hangs", async () => {
  let closed = 0;
  let loads = 0;
  const good = { name: "good", data: { domain: "shop", rules: [] } };
  const source: RuleSource = {
    name: "test",
    load: () => loads++ === 1 ? Promise.resolve([good]) : new Promise(() => {}),
    close() {
      closed++;
      return Promise.resolve();
    },
  };
  const failing = { ...source, load: () => Promise.reject(new Error("not there")) };
  await assert.rejects(following(failing), /not there/);
  assert.equal(closed, 1);
  loads = 1;
  const { followed } = await following(source);
  void followed.reload();
  await followed.close();
  assert.equal(closed, 2);
});

withRedis("Redis", (redis) => {
  const makeClient = () => newClient(redis().url);
  type Client = ReturnType<typeof makeClient>;

  /** Redis with these documents, which are followed for as long as the work takes. */
  async function followingRedis(
    documents: Readonly<Record<string, string>>,
    options: RedisSourceOptions,
    work: (state: Followed<{ client: Client; source: RuleSource }>) => Promise<void>,
    reader: (client: Client) => unknown = (client) => client,
  ): Promise<void> {
    const client = makeClient();
    client.on("error", () => {});
    await client.connect();
    await client.flushAll();
    await client.hSet("tidegate:rules", documents);
    const source = redisSource(reader(client) as RedisRulesClient, options);
    const state = await following(source);
    await work({ ...state, client, source });
    await state.followed.close();
    client.destroy();
  }

  const shop = { "shop.yaml": rulesOf(10) };

  test("holds documents in a hash; a message, or the next look, changes the rules", () =>
    followingRedis(shop, { pollEvery: 50 }, async ({ client, limit, seen, engine }) => {
      assert.equal(limit(), 10);
      await client.hSet("tidegate:rules", "shop.yaml", rulesOf(20));
      await seen((event) => event.event === "rules-loaded" && limit() === 20);
      await client.hSet("tidegate:rules", "shop.yaml", "x".repeat(5 * 2 ** 20));
      await seen(refused(/must be at most 4194304 bytes/));
      await client.del("tidegate:rules");
      await seen(refused(/must hold 1 to 1000 fields: it has 0/));
      assert.equal(limit(), 20);
      await client.hSet("tidegate:rules", { "a.yaml": rulesOf(5), "b.yaml": rulesOf(6, "api") });
      await seen((event) => event.event === "rules-loaded" && event.rules === 4);
      assert.equal(engine.rules.domains.size, 2);
    }));

  test("that hangs leaves the rules in place, and is reported", () => {
    let hangs = false;
    const through = (client: Client) => ({
      hKeys: (key: string) => hangs ? new Promise<string[]>(() => {}) : client.hKeys(key),
      hStrLen: (key: string, field: string) => client.hStrLen(key, field),
      hGet: (key: string, field: string) => client.hGet(key, field),
      duplicate: () => client.duplicate(),
    });
    const options = { pollEvery: 600_000, deadline: 50 };
    return followingRedis(shop, options, async ({ limit, followed, events }) => {
      hangs = true;
      assert.equal(await followed.reload(), false);
      assert.ok(
        events.some(refused(/Cannot read the hash tidegate:rules because it took over 50 ms/)),
      );
      assert.equal(limit(), 10);
    }, through);
  });

  test("learns of changes by pub/sub alone", () =>
    followingRedis(shop, { pollEvery: 600_000 }, async ({ client, limit, seen }) => {
      await client.hSet("tidegate:rules", "shop.yaml", rulesOf(20));
      while (await client.publish("tidegate:rules", "shop.yaml") === 0) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await seen((event) => event.event === "rules-loaded" && limit() === 20);
    }));

  test("holds limits of keys of their own", () => {
    const rules = [{
      key: "user",
      lookup: "wait",
      limits: [{ limit: 10, period: "1h", burst: 10 }],
    }];
    const documents = { "shop.json": JSON.stringify({ domain: "shop", rules }) };
    return followingRedis(documents, {}, async ({ client, engine, source }) => {
      const own = [{ limit: 3, period: "1h", burst: 3 }, {
        algorithm: "slidingLog",
        limit: 9,
        period: "1d",
      }];
      await client.hSet("tidegate:limits", {
        "shop/user=42": JSON.stringify(own),
        "shop/user=43": '"blocked"',
        "shop/user=44": '[{ "limit": "many", "period": "1h", "burst": 1 }]',
      });
      const ask = (user: string) =>
        engine.peek({ domain: "shop", descriptors: [{ entries: [["user", user]] }] });
      const first = await ask("42");
      assert.equal(first.decision?.parts?.length, 2);
      assert.equal((await ask("43")).allowed, false);
      await assert.rejects(async () => await ask("44"), /Cannot decide for user=44 .*, not "many"/);
      assert.equal((await ask("45")).decision?.limit, 10);
      await assert.rejects(
        async () => await source.lookup!("shop", "user=44"),
        /shop\/user=44 .*\[0\].limit: expected an integer, not "many"/,
      );
    });
  });
});
