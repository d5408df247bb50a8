import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { entryPoints, readManifests } from "../.ci/manifests.mjs";
import { snippetsOf } from "../.ci/snippets.mjs";
import {
  type Algorithm,
  type AsyncLimiter,
  balance,
  calendarWindow,
  type Limiter,
  limiter,
} from "../mod.ts";
import { inFolder } from "./support/in_folder.ts";
import { withRedis } from "./support/redis/with_redis.ts";
import { readText } from "./support/tree.ts";

const PAGE = "docs/recipes.md";
const page = readText(PAGE);
const entries: Readonly<Record<string, string>> = entryPoints(readManifests().deno);
const recipes = snippetsOf(PAGE, page);
const README = "README.md";
const readme = snippetsOf(README, readText(README));

/** A recipe as a module outside the project, which finds the entry points and packages all the same. */
function moduleOf(code: string): string {
  return code.replaceAll(/ from "([^"]+)"/g, (whole, name: string) => {
    if (name.startsWith("node:")) return whole;
    if (!/^tidegate(\/|$)/.test(name)) return ` from "${import.meta.resolve(name)}"`;
    const entry = entries[name.replace("tidegate", ".")];
    assert.ok(entry, `There is no entry point ${name}`);
    return ` from "${new URL(join("..", entry), import.meta.url).href}"`;
  });
}

async function withModule<Module>(code: string, use: (module: Module) => unknown): Promise<void> {
  await inFolder(async (folder) => {
    const file = join(folder, "recipe.ts");
    writeFileSync(file, moduleOf(code));
    await use(await import(pathToFileURL(file).href));
  });
}

test("each recipe has a block, and is in the list at the top", () => {
  const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, title = ""]) => title);
  const parts = page.split(/^## .*$/m).slice(1);
  assert.ok(titles.length >= 15);
  titles.forEach((title, index) => {
    assert.match(parts[index]!, /^```ts/m, title);
    const section = title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-");
    assert.ok(page.includes(`](#${section})`), `${title} is missing from the list`);
  });
});

/** The parts of the recipe for language models. */
interface ModelRecipe {
  complete(key: string, estimate: number, model: Iterable<string>): Promise<void>;
  readonly [limit: string]: unknown;
}

test("a model's request that one limit refuses takes nothing of the others", async () => {
  const { code } = recipes.find(({ code }) => code.includes("reserveAll"))!;
  assert.ok(code.trimEnd().split("\n").length <= 30);
  const names = ["money", "tokens", "requests", "streams"];
  const exported = `${code}\nexport { complete, ${names.join(", ")} };`;
  await withModule<ModelRecipe>(exported, async (recipe) => {
    const left = () => names.map((name) => (recipe[name] as Limiter).peek("ada", 0).remaining);
    const fresh = left();
    await recipe.complete("ada", 4_000, ["three", "short", "words"]);
    assert.deepEqual(left(), [fresh[0]! - 45, fresh[1]! - 3, fresh[2]! - 1, fresh[3]]);
    const before = left();
    // The tokens refuse sixty, the money the last.
    for (const estimate of [...Array<number>(60).fill(60_000), 7_000_000]) {
      await assert.rejects(recipe.complete("ada", estimate, []), /429/);
      assert.deepEqual(left(), before);
    }
  });
});

/** A server of the page, and what it made beside. */
interface Recipe {
  readonly server: Server;
  readonly store: { close(): unknown };
  readonly monthly: AsyncLimiter;
  readonly theirs: Algorithm;
}

/** Sends a request; answers with its status. */
type Send = (path: string, headers?: Record<string, string>, body?: unknown) => Promise<Response>;

withRedis("a recipe keeps what it promises:", (redis) => {
  const onRedis = { "redis://127.0.0.1:6379": () => redis().url };

  test("README's program refuses as README shows", () =>
    serving(README, { ...onRedis, '"api"': () => '"readme"' }, "", async (send) => {
      const headers = { "x-api-key": "key-1" };
      let response = await send("/", headers);
      // A busy machine may be too late for the store's deadline, which is a 503.
      for (let more = 0; more < 60 && response.status !== 429; more++) {
        response = await send("/", headers);
      }
      const [shown = ""] = /(?<=^```\n)HTTP[^]*?(?=^```$)/m.exec(readText(README)) ?? [];
      const [fields = "", body = ""] = shown.split("\n\n");
      assert.equal(`HTTP/1.1 ${response.status} Too Many Requests`, fields.split("\n")[0]);
      for (const field of fields.split("\n").slice(1)) {
        const [name = "", value] = field.split(": ");
        assert.equal(response.headers.get(name)?.split(";charset")[0], value, name);
      }
      assert.deepEqual(await response.json(), JSON.parse(body));
      assert.equal((await send("/", { "x-api-key": "key-2" })).status, 200);
    }));

  test("plans give each customer what they pay for, and nobody else anything", () =>
    serving("Limits by plan", onRedis, "", async (send) => {
      for (const [key, burst, perSecond] of [["key-1", 10, 1], ["key-2", 50, 10]] as const) {
        const began = Date.now();
        const count = await admitted(send, 2 * burst, key);
        const returned = perSecond * (Date.now() - began) / 1_000;
        assert.ok(count >= burst && count <= burst + returned, `${count} of ${key}`);
      }
      assert.equal((await send("/", { "x-api-key": "made up" })).status, 400);
      assert.equal((await send("/")).status, 400);
    }));

  test("an office logs in through one address, and nobody guesses", () =>
    serving("Logins", onRedis, "", async (send) => {
      const began = Date.now();
      const login = async (user: string, password = `secret of ${user}`) =>
        (await send("/login", { "content-type": "application/json" }, { user, password })).status;
      const office = Array.from({ length: 25 }, (_, index) => `user${index}`);
      for (const user of office) assert.equal(await login(user), 200);
      const together = await Promise.all(office.map((user) => login(user)));
      assert.deepEqual(together, office.map(() => 200));

      // A pair has three wrong passwords, also of a hundred at once; each address has a hundred.
      const guesses = await Promise.all(office.map(() => login("ada", "guess")));
      assert.equal(guesses.filter((status) => status === 401).length, 3);
      assert.equal(await login("ada"), 429);
      let wrong = 3;
      for (let index = 0; index < 120; index++) {
        if (await login(`name${index}`, "guess") === 401) wrong++;
      }
      const drained = (Date.now() - began) / 36_000;
      assert.ok(wrong >= 100 && wrong <= 100 + drained, `${wrong} wrong passwords`);
      assert.equal(await login("name119"), 429);
    }));

  test("a fetch stays below 4,900 in every hour, of the 5,000 that they allow", () =>
    serving("A third party's API", onRedis, "export { theirs };", (_send, { theirs }) => {
      let now = 0;
      const sent: number[] = [];
      const calls = limiter(theirs, { clock: () => now });
      for (; now < 3 * 3_600_000; now += 25) while (calls.consume("host").allowed) sent.push(now);
      // The call 4,900 places later is more than an hour later.
      assert.ok(sent.every((at, index) => (sent[index + 4_900] ?? Infinity) - at > 3_600_000));
      assert.ok(sent.filter((at) => at < 3_600_000).length > 4_890);
    }));

  test("what is left is shown, to a customer who has used nothing, too", () =>
    serving("Show what is left", onRedis, "", async (send) => {
      const response = await send("/usage", { "x-api-key": "key-2" });
      const { resetsAt, ...usage } = await response.json();
      assert.deepEqual(usage, { limit: 100, used: 0, remaining: 100 });
      assert.match(resetsAt, /T00:00:00\.000Z$/);
    }));

  test("a quota for a month is what customers see, to the unit", () =>
    serving(
      "A quota for a month",
      {
        // Another store, because a Postgres takes seconds of processor time to start.
        'import pg from "pg"': () => 'import { createClient } from "redis"',
        "{ postgresStore }": () => "{ redisStore }",
        "tidegate/postgres": () => "tidegate/redis",
        "postgresStore(new pg.Pool())": () => `redisStore(createClient({ url: "${redis().url}" }))`,
        "await store.migrate();": () => "",
      },
      "export { monthly };",
      async (send, { monthly }) => {
        const fresh = await balance(monthly, "acme");
        assert.deepEqual([fresh.used, fresh.limit], [0, 10_000]);
        await monthly.consume("acme", 9_990);
        assert.equal(await admitted(send, 20, "key-1"), 10);
        assert.deepEqual(await balance(monthly, "acme"), { ...fresh, used: 10_000, remaining: 0 });
        // A raised limit keeps what was used.
        const raised = calendarWindow({ limit: 20_000, every: "month", zone: "Europe/Berlin" });
        const after = limiter(raised, { store: monthly.store, prefix: monthly.prefix });
        assert.equal((await after.peek("acme", 0)).remaining, 10_000);
        const resetsAt = new Date(fresh.resetAt).toISOString();
        assert.match(resetsAt, /^\d{4}-\d\d-\d\dT2[23]:00:00\.\d{3}Z$/); // midnight in Berlin
      },
    ));
});

/** How many requests of a customer are admitted. */
async function admitted(send: Send, requests: number, key: string): Promise<number> {
  let count = 0;
  for (let request = 0; request < requests; request++) {
    if ((await send("/", { "x-api-key": key })).status === 200) count++;
  }
  return count;
}

/** Runs the server of a recipe on a free port while it is used. */
async function serving(
  title: string,
  edits: Readonly<Record<string, () => string>>,
  more: string,
  use: (send: Send, recipe: Recipe) => unknown,
): Promise<void> {
  const start = page.slice(0, page.indexOf(`## ${title}\n`)).split("\n").length;
  const found = title === README ? readme[0] : recipes.find(({ line }) => line > start);
  let code = found!.code
    .replace("app.listen(8080);", 'export const server = app.listen(0, "127.0.0.1");');
  for (const [text, edit] of Object.entries(edits)) {
    assert.ok(code.includes(text), `${title} must have ${text}`);
    code = code.replace(text, edit);
  }
  await withModule<Recipe>(`${code}export { store };${more}`, async (recipe) => {
    const { server, store } = recipe;
    if (!server.listening) await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const send: Send = (path, headers = {}, body) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        headers,
        ...body !== undefined && { method: "POST", body: JSON.stringify(body) },
      });
    try {
      await use(async (...request) => {
        const response = await send(...request);
        return new Response(await response.arrayBuffer(), response);
      }, recipe);
    } finally {
      server.close();
      server.closeAllConnections();
      await store.close();
    }
  });
}
