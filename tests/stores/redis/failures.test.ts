import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Redis as IoRedis } from "ioredis";

import { ContentionError, gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { withFakeCluster } from "../../support/fake_redis/fake_cluster.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import type { FakeRedis, Fault } from "../../support/fake_redis/fake_redis.ts";
import { PATIENT, storedKeyOf, withFake } from "../../support/fake_redis/with_fake.ts";
import { until } from "../../support/redis/redis_cluster.ts";
import { newClient } from "../../support/redis/new_client.ts";

/** The command that reads, and the command that commits. */
const PHASES = {
  watch: { load: "MGET", commit: "EXEC" },
  cas: { load: "EVALSHA", commit: "EVALSHA" },
  script: { load: "EVALSHA", commit: "EVALSHA" },
} as const;

const MODES = ["watch", "cas", "script"] as const;

/** Lets a command go wrong, the first time that it comes. */
function once(fake: FakeRedis, name: string, fault: Fault): void {
  let left = 1;
  fake.faults = (command) => command[0] === name && left-- > 0 ? fault : undefined;
}

/** Lets a command go wrong whenever it comes. */
function always(fake: FakeRedis, name: string, fault: Fault): void {
  fake.faults = (command) => command[0] === name ? fault : undefined;
}

/** The error of a call, and how long it took in ms. */
async function failureOf(call: Promise<unknown>): Promise<[error: Error, took: number]> {
  const start = performance.now();
  try {
    await call;
  } catch (error) {
    return [error as Error, performance.now() - start];
  }
  throw new Error("The call did not fail");
}

const no = () => false;

async function unavailable(call: Promise<unknown>): Promise<StoreUnavailableError> {
  const [error] = await failureOf(call);
  assert.ok(error instanceof StoreUnavailableError, String(error));
  return error;
}

describe("a connection that is lost", () => {
  test("before anything was written is made again, and no call fails", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter, store }) => {
      once(fake, "MGET", "drop");
      assert.equal((await limiter.consume("a")).remaining, 9);
      assert.equal(store.statistics().connections, 2);
      once(fake, "WATCH", "drop after");
      assert.equal((await limiter.consume("a")).remaining, 8);
    }));

  for (const commit of MODES) {
    const phase = PHASES[commit].commit;

    for (
      const [when, fault, left] of [["before", "drop", 10], ["after", "drop after", 9]] as const
    ) {
      test(`by ${commit}, ${when} the commit was carried out: unknown, and not tried again`, () =>
        withFake({ commit }, async ({ fake, limiter }) => {
          await limiter.peek("a");
          once(fake, phase, fault);
          assert.equal((await unavailable(limiter.consume("a"))).applied, "unknown");
          assert.equal((await limiter.peek("a", 0)).remaining, left);
        }));
    }

    test(`by ${commit}, at a call that only looks: charged nothing, and the error says so`, () =>
      withFake({ commit }, async ({ fake, limiter }) => {
        await limiter.consume("a");
        always(fake, PHASES[commit].load, "drop after");
        for (const look of [() => limiter.peek("a"), () => limiter.consume("a", 0)]) {
          const { applied, message } = await unavailable(look());
          assert.deepEqual([applied, /was not charged/.test(message)], ["no", true]);
        }
      }));

    test(`by ${commit}, between two calls is dialled again`, () =>
      withFake({ commit }, async ({ fake, limiter }) => {
        await limiter.consume("a");
        fake.dropAll();
        while (fake.connections() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.equal((await limiter.consume("a")).remaining, 8);
      }));
  }

  for (const [place, fault] of [["TIME", "hang up"], ["MULTI", "drop"]] as const) {
    test(`between WATCH and EXEC, at ${place}, loses no update made in the meantime`, () =>
      withFake({ commit: "watch" }, async ({ fake, limiter }) => {
        const stored = storedKeyOf("a");
        await limiter.consume("a");
        const before = fake.keyspace.get(stored)!;
        await limiter.consume("a", 4);
        const update = fake.keyspace.get(stored)!;
        fake.keyspace.set(stored, before);
        let updated = false;
        fake.faults = ([name]) => {
          if (updated || name !== "TIME" && name !== "MULTI") return undefined;
          fake.keyspace.set(stored, update);
          updated = name === place;
          return updated ? fault : undefined;
        };
        const verdict = await limiter.consume("a").catch((error) => error);
        const { remaining } = await limiter.peek("a", 0);
        if (verdict instanceof StoreUnavailableError) {
          assert.deepEqual([verdict.applied, remaining], ["unknown", 5]);
        } else assert.deepEqual([verdict.remaining, remaining], [4, 4]);
      }));
  }
});

describe("a server that is silent", () => {
  for (const commit of MODES) {
    for (const phase of ["load", "commit"] as const) {
      const applied = commit === "watch" && phase === "load" ? "no" : "unknown";

      test(`by ${commit}, at the ${phase}: ${applied}, within the deadline`, () =>
        withFake({ commit, deadline: 200 }, async ({ fake, limiter, store }) => {
          await limiter.peek("a");
          once(fake, PHASES[commit][phase], "silence after");
          const begun = performance.now();
          const calls = Array.from({ length: 20 }, () => failureOf(limiter.consume("a")));
          const failures = await Promise.all(calls);
          for (const [error, took] of failures) {
            assert.ok(error instanceof StoreUnavailableError);
            assert.equal(error.applied, applied);
            assert.ok(took >= 195, `settled after ${took} ms`);
          }
          // Until the next probe, 12 ms later at the earliest, calls are answered here. The store knows
          // of the failure a little earlier than its callers.
          const failed = begun + Math.min(...failures.map(([, took]) => took));
          const before = store.statistics().roundTrips;
          const next = await limiter.consume("b").catch((error) => error);
          if (performance.now() - failed > 10) return;
          assert.ok(next instanceof StoreUnavailableError && next.applied === "no");
          assert.equal(store.statistics().roundTrips, before);
        }));
    }
  }

  test("and then answers reaches nobody", () =>
    withFake({ commit: "watch", deadline: 50 }, async ({ fake, limiter }) => {
      await limiter.consume("a", 3);
      let answer = () => {};
      once(fake, "MGET", new Promise((resolve) => answer = resolve));
      await unavailable(limiter.consume("a"));
      answer();
      // Another key, so that an answer to the first one would show.
      let remaining = 0;
      await until(() => limiter.consume("b").then((back) => (remaining = back.remaining) > 0, no));
      assert.equal(remaining, 9);
      assert.equal((await limiter.peek("a", 0)).remaining, 7);
    }));

  test("is tried again by one call at a time, and comes back by itself", () =>
    withFake({ commit: "watch", deadline: 20, onUnavailable: "deny" }, async (on) => {
      const { fake, limiter } = on;
      await limiter.consume("a");
      always(fake, "WATCH", "silence");
      const start = performance.now();
      while (fake.commands.filter(([name]) => name === "WATCH").length < 5) {
        const decision = await limiter.consume("a");
        assert.equal(decision.source, "policy");
        await new Promise((resolve) => setTimeout(resolve));
      }
      // Between two probes there are 12 ms or more, then twice as many, and so on.
      const took = performance.now() - start;
      assert.ok(took > 12 + 25 + 50, `4 probes in ${took} ms`);
      fake.faults = () => undefined;
      while ((await limiter.consume("a")).source !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }));
});

describe("a server that stalls", () => {
  for (const commit of MODES) {
    test(`by ${commit}, past one deadline: the calls under way are answered, on the same connection`, () =>
      withFake({ commit, deadline: 200 }, async ({ fake, limiter, store }) => {
        await limiter.peek("a");
        once(fake, PHASES[commit].commit, 300);
        const calls = Array.from({ length: 20 }, () => limiter.consume("a"));
        const decisions = await Promise.all(calls);
        assert.equal(decisions.filter(({ allowed }) => allowed).length, 10);
        // The breaker that the silence opened is closed again.
        assert.equal((await limiter.consume("b")).remaining, 9);
        const { connections, unavailable } = store.statistics();
        assert.deepEqual([connections, unavailable], [1, 0]);
      }));
  }
});

/** The thread stands still, and takes no processor time that others would have. */
function holdUp(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

describe("a process that was held up", () => {
  for (const commit of MODES) {
    test(`by ${commit} does not take itself for a dead server`, () =>
      withFake({ commit, deadline: 200 }, async ({ fake, limiter, store }) => {
        await limiter.peek("a");
        always(fake, PHASES[commit].load, 5);
        for (let calls = 0; calls < 3; calls++) {
          const call = limiter.consume("a");
          // After the timer could have been started, and before anything was written.
          setImmediate(() => setImmediate(holdUp, 300));
          assert.equal((await call).allowed, true);
        }
        assert.equal(store.statistics().connections, 1);
      }));
  }

  test("counts no call's time from before it could be sent", () =>
    withFake({ timeout: 800 }, async ({ limiter }) => {
      await limiter.consume("a");
      // The timer that this has started is due while the process is held up.
      await new Promise((resolve) => setTimeout(resolve, 700));
      const calls = [limiter.consume("a")];
      holdUp(1_000);
      calls.push(limiter.consume("a"));
      const decisions = await Promise.all(calls);
      assert.deepEqual(decisions.map(({ allowed }) => allowed), [true, true]);
    }));

  const AT_START = { deadline: 1_500, connectDeadline: 1_500 };

  test(
    "while it connects does not take itself for a dead server",
    () =>
      withFake(AT_START, async ({ limiter }) => {
        const call = limiter.consume("a");
        // Once the connection is begun.
        setImmediate(holdUp, 1_600);
        assert.equal((await call).allowed, true);
      }),
  );

  test(
    "while it connects to a cluster does not take itself for a dead one",
    () =>
      withFakeCluster(2, async ({ storeOf }) => {
        const api = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), {
          store: storeOf(AT_START),
          prefix: "api",
        });
        const call = api.consume("a");
        holdUp(1_600);
        assert.equal((await call).allowed, true);
      }),
  );
});

describe("a server that hangs up on every command", () => {
  for (const commit of MODES) {
    test(`by ${commit} is not dialled over and over`, () =>
      withFake({ commit }, async ({ fake, limiter, store }) => {
        await limiter.consume("a");
        always(fake, PHASES[commit].load, "drop");
        const end = performance.now() + 300;
        while (performance.now() < end) {
          await unavailable(limiter.consume("a"));
          await new Promise((resolve) => setTimeout(resolve));
        }
        const { connections } = store.statistics();
        assert.ok(connections <= 15, `${connections} connections`);
      }));
  }
});

describe("an error that the server replies", () => {
  const messages = [
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOREPLICAS Not enough good replicas to write.",
    "MISCONF Redis is configured to save RDB snapshots",
    "NOPERM this user has no permissions to run the 'set' command",
    "NOAUTH Authentication required.",
    "LOADING Redis is loading the dataset in memory",
    "MASTERDOWN Link with MASTER is down",
    "BUSY Redis is busy running a script.",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "CLUSTERDOWN The cluster is down",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CROSSSLOT Keys in request don't hash to the same slot",
  ];
  for (const message of messages) {
    const [code] = message.split(" ");

    test(`${code}: not applied, and the error says so in its words`, async () => {
      const places = [["watch", "MGET"], ["watch", "SET"], ["cas", "EVALSHA"], [
        "script",
        "EVALSHA",
      ]] as const;
      await Promise.all(
        places.map(([commit, name]) =>
          withFake({ commit }, async ({ fake, limiter }) => {
            await limiter.consume("a");
            once(fake, name, new Error(message));
            const error = await unavailable(limiter.consume("a"));
            assert.equal(error.applied, "no");
            assert.match(error.message, new RegExp(code!));
            await new Promise((resolve) => setTimeout(resolve, 40));
            assert.equal((await limiter.consume("a")).remaining, 8);
          })
        ),
      );
    });
  }

  for (
    const [must, make] of [
      ["createCluster of node-redis", (url: string) => newClient(url)],
      ["a Redis.Cluster of ioredis", (url: string) => new IoRedis(url, { lazyConnect: true })],
    ] as const
  ) {
    test(`MOVED, to a client of one node: the error asks for ${must}`, () =>
      withFake({}, async ({ fake }) => {
        const store = redisStore(make(fake.url), { ...PATIENT, commit: "watch" });
        const api = limiter(gcra({ limit: 1, period: "1d", burst: 1 }), { store, prefix: "api" });
        fake.faults = ([name]) => name === "WATCH" ? new Error("MOVED 1 127.0.0.1:1") : undefined;
        const error = await unavailable(api.consume("a"));
        assert.ok(error.message.includes(must), error.message);
        // The server has made no mistake: the breaker stays closed.
        fake.faults = () => undefined;
        assert.equal((await api.consume("a")).allowed, true);
        await store.close();
      }));
  }

  test("in the middle of the script: nobody knows what was written", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.consume("a");
      once(fake, "EVALSHA", new Error("ERR value is out of range script: 28, on @user_script:30."));
      assert.equal((await unavailable(limiter.consume("a"))).applied, "unknown");
    }));

  test("NOSCRIPT: the script is sent, and no call fails", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await limiter.consume("a");
      fake.state.scripts.clear();
      assert.equal((await limiter.consume("a")).remaining, 8);
      assert.equal(fake.commands.filter(([name]) => name === "EVAL").length, 2);
    }));

  test("NOPERM on scripts: auto commits by WATCH until they are permitted, on the same connection", () =>
    withFake({ commit: "auto" }, async ({ fake, limiter, store }) => {
      always(
        fake,
        "EVAL",
        new Error("NOPERM this user has no permissions to run the 'eval' command"),
      );
      assert.equal(store.statistics().commit, undefined);
      await limiter.consume("a");
      assert.ok(fake.commands.some(([name]) => name === "EXEC"));
      const { commit, commitReason } = store.statistics();
      assert.equal(commit, "watch");
      assert.match(commitReason, /no scripts: NOPERM/);
      fake.faults = () => undefined;
      await until(() => limiter.peek("a").then(() => store.statistics().commit === "script"));
      assert.equal((await limiter.consume("a")).remaining, 8);
      assert.equal(store.statistics().connections, 1);
    }));

  test("a server that is too old is refused by its version", () =>
    withFake({ commit: "watch" }, async ({ fake, limiter }) => {
      fake.state.version = "5.0.14";
      const { message } = await unavailable(limiter.consume("a"));
      assert.match(message, /must be of version 6.0 or later: current version is 5.0.14/);
    }));

  test("a password that is required later: the connection goes on, the next one is refused", () =>
    withFake({}, async ({ fake, limiter }) => {
      await limiter.consume("a");
      fake.state.password = "secret";
      fake.dropAll();
      // A call may still be sent by the connection that is going.
      await until(async () => /NOAUTH/.test((await unavailable(limiter.consume("a"))).message));
    }));
});

describe("contention", () => {
  // By script there are no conflicts.
  for (const commit of ["watch", "cas"] as const) {
    test(`by ${commit} without end is a ContentionError, and charges nothing`, () =>
      withFake({ commit, deadline: 60_000 }, async ({ fake, limiter, store }) => {
        await limiter.consume("a");
        const stored = storedKeyOf("a");
        const texts = [fake.keyspace.get(stored)!];
        await limiter.consume("a");
        texts.push(fake.keyspace.get(stored)!);
        let turn = 0;
        // Others write between the reading and the commit, each time.
        fake.faults = ([name]) => {
          if (name === PHASES[commit].commit) fake.keyspace.set(stored, texts[turn++ % 2]!);
          return undefined;
        };
        const [error] = await failureOf(limiter.consume("a"));
        assert.ok(error instanceof ContentionError, String(error));
        assert.equal(store.statistics().contended, 1);
        fake.faults = () => undefined;
        assert.ok((await limiter.peek("a", 0)).remaining >= 8);
        assert.ok(texts.includes(fake.keyspace.get(stored)!));
      }));

    test(`by ${commit} until its time is over is one as well, and no policy admits for it`, () =>
      withFake({ commit, timeout: 300, onUnavailable: "allow" }, async (on) => {
        const { fake, limiter, store } = on;
        await until(() => limiter.consume("a").then(({ source }) => source === undefined));
        const stored = storedKeyOf("a");
        const first = Number(fake.keyspace.get(stored)!.slice(3));
        let writes = 0;
        // No text comes twice, because two calls that are under way would take it for their own.
        fake.faults = ([name]) => {
          if (name !== PHASES[commit].commit) return undefined;
          fake.keyspace.set(stored, `t1 ${first + ++writes}`);
          return 10;
        };
        // A busy machine may leave a commit without its reply at the end of a call: try again then.
        await until(async () => {
          const before = store.statistics();
          const late = limiter.consume("a");
          const next = new Promise((resolve) => setTimeout(resolve, 100)).then(() =>
            limiter.consume("a")
          );
          const ends = await Promise.allSettled([late, next]);
          const failed = ends.filter((end) => end.status === "rejected");
          for (const { reason } of failed) {
            assert.ok(reason instanceof ContentionError, String(reason));
          }
          const { contended, unavailable } = store.statistics();
          assert.equal(contended - before.contended, failed.length);
          assert.equal(unavailable - before.unavailable, ends.length - failed.length);
          return failed.length === ends.length;
        });
      }));

    test(`by ${commit} with an end is not noticed`, () =>
      withFake({ commit }, async ({ fake, limiter }) => {
        await limiter.consume("a");
        const stored = storedKeyOf("a");
        const one = fake.keyspace.get(stored)!;
        await limiter.consume("a");
        let left = 5;
        fake.faults = ([name]) => {
          if (name === PHASES[commit].commit && left-- > 0) {
            fake.keyspace.set(stored, left % 2 === 0 ? one : `t1 ${Number(one.slice(3)) + 1}`);
          }
          return undefined;
        };
        assert.equal((await limiter.consume("a")).allowed, true);
      }));
  }
});

describe("a call while Redis is away", () => {
  test("allow: a decision that says that it is the policy's", () =>
    withFake({ onUnavailable: "allow" }, async ({ fake, limiter }) => {
      await fake.stop();
      assert.deepEqual(await limiter.consume("a"), {
        ...{ allowed: true, limit: 1, remaining: 0, retryAfter: 0, nextAfter: 0, resetAfter: 0 },
        ...{ delay: 0, debt: 0, source: "policy", parts: undefined },
      });
    }));

  test("deny: a refusal until the next probe", () =>
    withFake({ onUnavailable: "deny" }, async ({ fake, limiter }) => {
      await fake.stop();
      const { allowed, remaining, retryAfter, source } = await limiter.consume("a");
      assert.deepEqual({ allowed, remaining, source }, {
        allowed: false,
        remaining: 0,
        source: "policy",
      });
      assert.ok(retryAfter >= 1 && retryAfter <= 250, `${retryAfter} ms`);
    }));

  for (const onUnavailable of ["allow", "deny"] as const) {
    test(`${onUnavailable}: a reset that could not be done is an error all the same`, () =>
      withFake({ onUnavailable }, async ({ fake, limiter }) => {
        await fake.stop();
        await unavailable(limiter.reset("a"));
      }));
  }

  test("fails at once if more calls wait than may", () =>
    withFake({ maxPending: 5 }, async ({ limiter }) => {
      const calls = Array.from({ length: 8 }, (_, index) => limiter.consume(`key ${index}`));
      const settled = await Promise.allSettled(calls);
      const verdicts = settled.map(({ status }) => status === "fulfilled");
      assert.deepEqual(verdicts, [true, true, true, true, true, false, false, false]);
    }));
});

describe("a store without a server", () => {
  test("fails also a call that is made as soon as one failed, and is the probe", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter }) => {
      await fake.stop();
      await assert.rejects(async () => {
        try {
          await limiter.consume("a");
        } catch {
          // In this very turn it is time for the next probe.
          for (const end = performance.now() + 30; performance.now() < end;);
          await limiter.consume("a");
        }
      }, StoreUnavailableError);
    }));

  test("dials nobody when it is closed in the turn of its first call", () =>
    withFake({ commit: "cas" }, async ({ fake, limiter, store }) => {
      const call = limiter.consume("a");
      await Promise.all([assert.rejects(call, StoreUnavailableError), store.close()]);
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.deepEqual(fake.commands, []);
    }));
});
