/*
 * Wrong passwords, ports, names and TLS: an error says what is wrong in the client's words, and what
 * admits calls in the meantime does not hide it.
 */
import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";
import { Redis as IoRedis } from "ioredis";
import { Redis as IoValkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient4 } from "redis4";

import { gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import {
  type Outage,
  type RedisClient,
  redisStore,
  type RedisStoreOptions,
} from "../../../stores/redis/redis_store.ts";
import { freePort } from "../../support/redis/free_port.ts";
import { newClient } from "../../support/redis/new_client.ts";
import { tell, until } from "../../support/redis/redis_cluster.ts";
import { type RedisProcess, startRedis } from "../../support/redis/redis_process.ts";
import { needs } from "../../support/program.ts";
import { withFake } from "../../support/fake_redis/with_fake.ts";

const algorithm = gcra({ limit: 10, period: "1m", burst: 10 });

const redisServer = needs("redis-server");

async function errorOf(client: RedisClient, options: RedisStoreOptions = {}) {
  const store = redisStore(client, { connectDeadline: 5_000, ...options });
  try {
    await limiter(algorithm, { store, prefix: "api" }).consume("a");
  } catch (error) {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.equal(error.applied, "no");
    return error;
  } finally {
    await store.close();
  }
  throw new Error("The call did not fail");
}

const lazy = { lazyConnect: true } as const;

describe("a client with wrong settings", redisServer, () => {
  let redis: RedisProcess;
  before(async () => {
    if (redisServer.skip) return;
    redis = await startRedis();
    await tell(redis, "CONFIG", "SET", "requirepass", "secret");
  });
  after(() => redis?.stop());

  type Make = (url: string, tls?: boolean) => RedisClient;
  const CLIENTS: readonly [string, Make][] = [
    ["node-redis", (url) => newClient(url)],
    ["ioredis", (url, tls) => new IoRedis(url, tls ? { ...lazy, tls: {} } : lazy)],
    ["iovalkey", (url, tls) => new IoValkey(url, tls ? { ...lazy, tls: {} } : lazy)],
  ];
  for (const [name, make] of CLIENTS) {
    test(`${name}: a wrong password is named, and is the cause`, async () => {
      const url = redis.url.replace("redis://", "redis://:wrong@");
      const { message, cause } = await errorOf(make(url));
      assert.match(message, /WRONGPASS/);
      assert.match(String(cause), /WRONGPASS/);
    });

    test(`${name}: a refused port is named`, async () => {
      const { message } = await errorOf(make(`redis://127.0.0.1:${await freePort()}`));
      assert.match(message, /ECONNREFUSED/);
    });

    test(`${name}: a name that nobody has is named`, async () => {
      const { message } = await errorOf(make("redis://no-such-host.invalid:6379"));
      assert.match(message, /ENOTFOUND|EAI_AGAIN/);
    });

    test(`${name}: TLS to a server without it is named`, async () => {
      const url = redis.url.replace("redis://", "rediss://");
      const { message } = await errorOf(make(url, true), { connectDeadline: 700 });
      assert.match(message, /TLS|SSL|ECONNRESET|socket disconnected/);
    });
  }
});

describe("a password that changes", redisServer, () => {
  let redis: RedisProcess;
  before(async () => {
    if (!redisServer.skip) redis = await startRedis();
  });
  after(() => redis?.stop());

  let password = "";
  const credentials = () => Promise.resolve({ username: "app", password });
  const io = new IoRedis({ ...lazy, username: "app" });
  const CLIENTS: readonly [string, (url: string) => RedisClient][] = [
    ["the credentialsProvider of node-redis", (url) =>
      createClient({
        url,
        credentialsProvider: { type: "async-credentials-provider", credentials },
      })],
    ["the options of ioredis", (url) => {
      io.options.port = Number(new URL(url).port);
      return io;
    }],
  ];
  for (const [name, make] of CLIENTS) {
    test(`is followed by new connections, by ${name}`, async () => {
      const rotate = async (next: string) => {
        io.options.password = password = next;
        await tell(redis, "ACL", "SETUSER", "app", "on", "resetpass", `>${next}`, "~*", "+@all");
        await tell(redis, "CLIENT", "KILL", "USER", "app");
      };
      await rotate("first");
      const store = redisStore(make(redis.url), { connectDeadline: 5_000, onOutage() {} });
      const api = limiter(algorithm, { store, prefix: name });
      assert.equal((await api.consume("a")).remaining, 9);
      await rotate("second");
      await until(() => Promise.resolve(api.peek("a")).then(() => true, () => false));
      assert.equal((await api.consume("a")).remaining, 8);
      await store.close();
    });
  }
});

test("a client in legacy mode is refused when the store is made", () => {
  const client = createClient4({ legacyMode: true }) as unknown as RedisClient;
  assert.throws(() => redisStore(client), {
    name: "TypeError",
    message: "Cannot create redisStore as the client must not have the option legacyMode: " +
      "current value is true",
  });
});

describe("an outage", () => {
  test("is reported when it begins, with the reason, and when it ends, beside any policy", async () => {
    const outages: Outage[] = [];
    const options = {
      commit: "cas",
      onUnavailable: "allow",
      onOutage(outage: Outage) {
        outages.push(outage);
        throw new Error("mine");
      },
    } as const;
    const printed = mock.method(console, "error", () => {});
    await withFake(options, async ({ fake, limiter }) => {
      fake.state.password = "secret";
      assert.equal((await limiter.consume("a")).source, "policy");
      assert.equal((await limiter.consume("a")).source, "policy");
      assert.deepEqual(outages.map(({ state }) => state), ["began"]);
      assert.match(outages[0]!.cause!.message, /NOAUTH/);
      fake.state.password = undefined;
      while ((await limiter.consume("a")).source === "policy") {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.deepEqual(outages.map(({ state }) => state), ["began", "ended"]);
      assert.ok(outages[1]!.duration > 0 && outages[1]!.cause === undefined);
    }).finally(() => printed.mock.restore());
    assert.equal(printed.mock.callCount(), 1);
  });

  test("names its cause in every error, and is reported again when the cause changes", async () => {
    const outages: Outage[] = [];
    const onOutage = (outage: Outage) => void outages.push(outage);
    await withFake({ commit: "cas", onOutage }, async ({ fake, limiter }) => {
      await limiter.consume("a");
      for (const reason of ["OOM command not allowed", "MISCONF Redis is configured to save"]) {
        fake.faults = ([name]) => name === "EVALSHA" ? new Error(reason) : undefined;
        const causes = new Set<string>();
        while (outages.at(-1)?.cause?.message !== reason) {
          const error = await limiter.consume("a").then(() => new Error(), (error) => error);
          causes.add((error.cause as Error).message);
          assert.ok(error.message.endsWith((error.cause as Error).message));
        }
        const later = Array.from({ length: 20 }, () => limiter.consume("a"));
        for (const end of await Promise.allSettled(later)) {
          assert.equal(end.status === "rejected" && end.reason.cause.message, reason);
        }
      }
      assert.deepEqual(outages.map(({ state }) => state), ["began", "began"]);
      assert.ok(outages[0]!.duration === 0 && outages[1]!.duration > 0);
    });
  });

  test("is printed once when it begins and once when it ends, unless somebody listens", async () => {
    const printed = mock.method(console, "warn", () => {});
    const options = { onUnavailable: "allow", onOutage: undefined } as const;
    await withFake(options, async ({ fake, limiter }) => {
      for (let outage = 0; outage < 2; outage++) {
        fake.state.password = "secret";
        for (let calls = 0; calls < 5; calls++) {
          assert.equal((await limiter.consume("a")).allowed, true);
        }
        fake.state.password = undefined;
        while ((await limiter.consume("a")).source === "policy") {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        fake.dropAll();
        while (fake.connections() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }).finally(() => printed.mock.restore());
    const lines = printed.mock.calls.map((call) => String(call.arguments[0]));
    const began = /^tidegate: Redis does not answer, so calls are admitted .*: NOAUTH/;
    const ended = /^tidegate: Redis answers again after \d+ ms$/;
    assert.equal(lines.length, 4, lines.join("\n"));
    for (const [index, line] of lines.entries()) {
      assert.match(line, index % 2 === 0 ? began : ended);
    }
  });

  test("is over when a probe is answered by an error about its key", () =>
    withFake({ commit: "cas", deadline: 50 }, async ({ fake, limiter, store }) => {
      await limiter.consume("a");
      fake.faults = ([name]) => name === "EVALSHA" ? "silence" : undefined;
      await assert.rejects(async () => await limiter.consume("a"));
      // Not when it connects.
      fake.faults = ([name, , keys]) =>
        name === "EVALSHA" && keys !== "0"
          ? new Error("NOPERM No permissions to access a key")
          : undefined;
      const message = async () => {
        try {
          return String(await limiter.consume("a"));
        } catch (error) {
          return String(error);
        }
      };
      while (!/NOPERM/.test(await message())) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      // Not that the server is silent.
      assert.match(await message(), /NOPERM/);
      assert.ok(store.statistics().unavailable > 0);
    }));
});
