/*
 * Faults of a real server, under callers who keep an account. Run by `npm run postgres`.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, test, type TestContext } from "node:test";
import pg from "pg";

import { fixedWindow, limiter, StoreUnavailableError } from "../../../mod.ts";
import { type PostgresStore, postgresStore } from "../../../stores/postgres/postgres_store.ts";
import { accountOf } from "../../support/postgres/account.ts";
import { type ClientOf, CLIENTS } from "../../support/postgres/clients_of.ts";
import { startPostgres } from "../../support/postgres/postgres_process.ts";
import { withPostgres } from "../../support/postgres/with_postgres.ts";
import { startDelayingProxy } from "../../support/redis/delaying_proxy.ts";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const SHORT = { deadline: 100, timeout: 250 };
/** Where a busy machine must not look like a failure. */
const PATIENT = { deadline: 1_000, timeout: 1_500 };

withPostgres("faults of a server", (postgres, { sql, storeOf, poolOf }) => {
  /** Works while others hold a lock. */
  async function holding(statement: string, work: () => Promise<void>): Promise<void> {
    const holder = await poolOf({ max: 1 }).connect();
    try {
      await holder.query("BEGIN");
      await holder.query(statement);
      await work();
    } finally {
      await holder.query("ROLLBACK");
      holder.release();
    }
  }

  for (const [client, clientOf] of Object.entries(CLIENTS)) {
    describe(`by ${client}`, () => {
      test("connections that the server ends lose nothing that was answered", (context) =>
        withAccount(context, clientOf, postgres().url, async (account, store) => {
          const killer = poolOf({ max: 1 });
          await account.callUntil((async () => {
            for (let round = 0; round < 8; round++) {
              await pause(150);
              await killer.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
              );
            }
          })());
          await goesOn(store);
          await account.check(storeOf());
        }));

      test("connections that are cut lose nothing that was answered", async (context) => {
        const proxy = await startDelayingProxy(postgres().port, 0);
        try {
          const url = postgres().url.replace(String(postgres().port), String(proxy.port));
          await withAccount(context, clientOf, url, async (account, store) => {
            await account.callUntil((async () => {
              for (let round = 0; round < 8; round++) {
                await pause(150);
                proxy.breakAll();
              }
            })());
            await goesOn(store);
            await account.check(storeOf());
          });
        } finally {
          await proxy.stop();
        }
      });

      test("a server that is stopped keeps nobody, and loses nothing", (context) =>
        withAccount(context, clientOf, postgres().url, async (account, store) => {
          await account.callUntil(pause(50));
          const under = account.callUntil((async () => {
            await pause(50);
            postgres().signal("SIGSTOP");
            await pause(50);
          })());
          // It goes on only when all have been answered.
          await under;
          await account.callAtOnce(32);
          postgres().signal("SIGCONT");
          await goesOn(store);
          await account.check(storeOf());
        }));

      test("a row that others hold keeps nobody, and fails only calls on it", (context) =>
        withAccount(context, clientOf, postgres().url, async (_, store) => {
          const api = limiter(fixedWindow({ limit: 100, period: "365d" }), {
            store,
            prefix: `held by ${client}`,
          });
          for (const key of ["held", "free"]) await api.consume(key);
          const name = `held by ${client.replace("'", "''")}:{held}%`;
          await holding(`SELECT FROM tidegate WHERE key LIKE '${name}' FOR UPDATE`, async () => {
            // They are answered while the row is held.
            const [held, free] = await Promise.all(
              ["held", "free"].map((key) =>
                Promise.allSettled(Array.from({ length: 10 }, () => api.consume(key)))
              ),
            ) as [PromiseSettledResult<unknown>[], PromiseSettledResult<unknown>[]];
            for (const come of held) {
              assert.ok(come.status === "rejected");
              assert.match(
                come.reason.message,
                /must lock the row of its key, and the call was not charged/,
              );
            }
            assert.deepEqual(free.map(({ status }) => status), Array(10).fill("fulfilled"));
          });
          await goesOn(store);
          assert.equal((await api.peek("held", 0)).remaining, 99);
          assert.equal((await api.peek("free", 0)).remaining, 89);
        }, PATIENT));

      test("a table that others hold keeps nobody", (context) =>
        withAccount(context, clientOf, postgres().url, async (account, store) => {
          await account.callAtOnce(20);
          await holding("LOCK TABLE tidegate", async () => {
            await account.callAtOnce(20);
          });
          await goesOn(store);
          await account.check(storeOf());
        }));

      test("a server that is shut down and started again has lost nothing", (context) =>
        withAccount(context, clientOf, postgres().url, async (account, store) => {
          await account.callUntil((async () => {
            await pause(50);
            await postgres().shutDown();
            await pause(50);
            await postgres().restart();
            await pause(300);
          })());
          await goesOn(store);
          await account.check(storeOf());
        }));
    });
  }

  test("a crash empties an unlogged table, and limits begin anew", async () => {
    const place = { table: "unlogged", logged: false };
    await storeOf(place).migrate();
    const store = storeOf({ ...SHORT, ...place });
    await accountOf(store, "crash").callAtOnce(20);
    await postgres().crash();
    await postgres().restart();
    await goesOn(store);
    const [row] = await sql("SELECT count(*)::integer AS rows FROM unlogged");
    assert.ok(Number(row!["rows"]) <= 1, `${row!["rows"]} rows`);
  });

  test("a crash costs nothing that was answered where the table is logged", async (context) => {
    await withAccount(context, CLIENTS["a pool of pg"]!, postgres().url, async (account, store) => {
      await account.callUntil((async () => {
        await pause(100);
        await postgres().crash();
        await postgres().restart();
      })());
      await goesOn(store);
      await account.check(storeOf());
    });
  });

  for (
    const [name, url, message] of [
      ["a database that is not there", "/none", /must let the client in.*database "none" does not/],
      ["a user that is not there", "stranger@", /must let the client in.*role "stranger" does not/],
    ] as const
  ) {
    test(`${name} is an error that says so`, async () => {
      for (const clientOf of Object.values(CLIENTS)) {
        const address = url.startsWith("/")
          ? postgres().url.replace("/postgres", url)
          : postgres().url.replace("tidegate:x@", url);
        const [client, end] = clientOf(address);
        const store = postgresStore(client);
        const api = limiter(fixedWindow({ limit: 1, period: "1h" }), { store, prefix: "api" });
        await assert.rejects(api.consume("key"), (error) => {
          assert.ok(error instanceof StoreUnavailableError);
          assert.match(error.message, message);
          assert.equal(error.applied, "no");
          return true;
        });
        await store.close();
        await end();
      }
    });
  }

  test("a server without a free connection is an error that says so", async () => {
    const others = Array.from(
      { length: 70 },
      () => new pg.Client({ connectionString: postgres().url }),
    );
    for (const other of others) other.on("error", () => {});
    await Promise.allSettled(others.map((other) => other.connect()));
    try {
      for (const clientOf of Object.values(CLIENTS)) {
        const [client, end] = clientOf(postgres().url);
        const store = postgresStore(client);
        const api = limiter(fixedWindow({ limit: 1, period: "1h" }), { store, prefix: "full" });
        await assert.rejects(api.consume("key"), (error) => {
          assert.ok(error instanceof StoreUnavailableError);
          assert.match(error.message, /Postgres must have room, and the call was not charged: /);
          assert.equal(error.applied, "no");
          return true;
        });
        await store.close();
        await end();
      }
    } finally {
      await Promise.allSettled(others.map((other) => other.end()));
    }
  });
});

if (process.env["TIDEGATE_POSTGRES"] === "1") {
  const canMount = process.platform === "linux" && process.getuid?.() === 0;
  const skip = canMount ? false : "a small disk takes root, to mount it";
  test("a full disk fails calls as not charged, and nothing is lost", { skip }, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "tidegate-postgres-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", folder]);
    const postgres = await startPostgres({ fsync: "on" }, folder);
    const pool = new pg.Pool({ connectionString: postgres.url });
    pool.on("error", () => {});
    const store = postgresStore(pool, { deadline: 5_000, timeout: 10_000 });
    try {
      await store.migrate();
      const api = limiter(fixedWindow({ limit: 10, period: "365d" }), { store, prefix: "api" });
      const answered = Array.from({ length: 20 }, (_, key) => `early ${key}`);
      for (const key of answered) await api.consume(key);
      const filler = join(folder, "filler");
      try {
        writeFileSync(filler, new Uint8Array(160 * 2 ** 20));
      } catch (error) {
        assert.match(String(error), /ENOSPC/);
      }
      assert.ok(existsSync(filler));
      let failure: unknown;
      for (let key = 0; key < 20_000 && failure === undefined; key += 100) {
        const keys = Array.from({ length: 100 }, (_, next) => `key ${key + next}`);
        const come = await Promise.allSettled(keys.map((key) => api.consume(key)));
        for (const [at, { status }] of come.entries()) {
          if (status === "fulfilled") answered.push(keys[at]!);
        }
        failure = (come.find(({ status }) => status === "rejected") as
          | PromiseRejectedResult
          | undefined)?.reason;
      }
      assert.ok(failure instanceof StoreUnavailableError, String(failure));
      context.diagnostic(failure.message);
      assert.match(failure.message, /Postgres must have room.*No space left on device/);
      assert.equal(failure.applied, "no");
      rmSync(filler);
      await goesOn(store);
      for (const key of answered) assert.equal((await api.peek(key, 0)).remaining, 9);
    } finally {
      await store.close();
      await pool.end();
      await postgres.crash();
      execFileSync("umount", [folder]);
      rmSync(folder, { recursive: true });
    }
  });
}

/**
 * Runs work with callers on a store that has a client of its own, by default with short time limits.
 */
async function withAccount(
  context: TestContext,
  clientOf: ClientOf,
  url: string,
  work: (account: ReturnType<typeof accountOf>, store: PostgresStore) => Promise<void>,
  limits = SHORT,
): Promise<void> {
  const [client, end] = clientOf(url);
  const store = postgresStore(client, limits);
  const account = accountOf(store, `account ${Math.random()}`);
  try {
    await work(account, store);
    show(context, account);
  } finally {
    await store.close();
    await end();
  }
}

function show(context: TestContext, account: ReturnType<typeof accountOf>): void {
  const { answered, unknown, longest, messages } = account.come();
  context.diagnostic(`${answered} answered, ${unknown} unknown, longest ${Math.round(longest)} ms`);
  for (const message of messages) context.diagnostic(message);
}

/** Waits until a store answers again. */
async function goesOn(store: PostgresStore): Promise<void> {
  const api = limiter(fixedWindow({ limit: 10, period: "1h" }), { store, prefix: "goes on" });
  for (let tries = 0;; tries++) {
    try {
      await api.peek("key");
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await pause(50);
    }
  }
}
