/*
 * Clients of the example gateway, a third of which leave before the end, at a random chunk: before the
 * first one, in the middle, and while one is on its way. Prints what they have read, and what was
 * refused on the way. CALLS is how many streams to open, REDIS_URL where the limits are.
 */
import process from "node:process";
import { createClient } from "redis";

import { redisStore } from "../../../stores/redis/redis_store.ts";
import { type RuleEngine, ruleEngine } from "../../../adapters/rules/rules.ts";
import { type Chunk, fakeModel, gateway, type Model } from "../../../examples/llm_gateway.ts";

/** Windows of a month, so that the taken units can be read off exactly. */
const perMonth = {
  algorithm: "calendarWindow",
  every: "month",
  zone: "UTC",
  reservable: true,
} as const;
const MUCH = 1_000_000_000;
const RULES = {
  domain: "llm",
  rules: [
    { key: "streams", limits: [{ algorithm: "concurrency", limit: 8, ttl: "30s" }] },
    { key: "requests", limits: [{ ...perMonth, limit: MUCH }] },
    { key: "tokens", limits: [{ ...perMonth, limit: MUCH }] },
    { key: "money", limits: [{ ...perMonth, limit: MUCH }] },
    // So little that the spare one takes over.
    {
      key: "provider",
      value: "first",
      name: "provider",
      limits: [{ limit: 2_000, period: "1m", burst: 2_000, reservable: true }],
    },
    { key: "provider", limits: [{ limit: MUCH, period: "1m", burst: MUCH, reservable: true }] },
  ],
} as const;
const CALLS = Number(process.env["CALLS"] ?? 200);
const CLIENTS = 12;
const PROMPT = "x".repeat(40);
const PROMPT_TOKENS = 10;
const PRICES = { first: 2, spare: 3 };

const url = process.env["REDIS_URL"];
const client = url === undefined ? undefined : await createClient({ url }).connect();
const store = client && redisStore(client, { timeout: 60_000 });
const engine: RuleEngine = ruleEngine({
  rules: RULES,
  store,
});

/** A provider that hangs up now and then. */
function flaky(model: Model): Model {
  return {
    ...model,
    async *stream(prompt, signal): AsyncIterable<Chunk> {
      const failsAfter = Math.random() < 0.1 ? Math.floor(Math.random() * 10) : Infinity;
      let count = 0;
      for await (const chunk of model.stream(prompt, signal)) {
        if (count++ >= failsAfter) throw new Error("The provider has hung up");
        yield chunk;
      }
    },
  };
}

const handle = gateway(engine, [
  flaky(fakeModel("first", PRICES.first, 12)),
  flaky(fakeModel("spare", PRICES.spare, 12)),
]);
const totals = { calls: 0, refused: 0, aborted: 0, failed: 0, spare: 0, tokens: 0, money: 0 };

async function ask(): Promise<void> {
  const response = await handle(
    new Request("http://localhost/", {
      method: "POST",
      headers: { "x-tenant": "ada" },
      body: JSON.stringify({ prompt: PROMPT, maxTokens: 100 }),
    }),
  );
  if (response.status === 429) {
    totals.refused++;
    await new Promise((resolve) => setTimeout(resolve, 1));
    return ask();
  }
  totals.calls++;
  const tokens = PROMPT_TOKENS + await readSome(response.body!.getReader());
  const provider = response.headers.get("x-provider") as keyof typeof PRICES;
  if (provider === "spare") totals.spare++;
  totals.tokens += tokens;
  totals.money += tokens * PRICES[provider];
}

/** Reads an answer to its end, or leaves on the way; answers how many tokens it has read. */
async function readSome(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<number> {
  const leaves = Math.random() < 1 / 3;
  const most = leaves ? Math.floor(Math.random() * 12) : Infinity;
  let tokens = 0;
  const readOne = async () => {
    const { done, value } = await reader.read();
    if (!done) tokens += new TextDecoder().decode(value).split(" ").length - 1;
    return done;
  };
  try {
    for (let chunk = 0; chunk < most; chunk++) {
      if (await readOne()) return tokens;
    }
    totals.aborted++;
    // Half of them leave while a chunk is on its way, the others after a while without reading.
    const pending = Math.random() < 0.5 ? readOne() : undefined;
    if (pending === undefined) await new Promise((resolve) => setTimeout(resolve, 3));
    await reader.cancel();
    await pending;
  } catch {
    totals.failed++;
  }
  return tokens;
}

/** The units of a limit that are taken. */
async function takenOf(key: string): Promise<number> {
  const request = { domain: "llm", descriptors: [{ entries: [[key, "ada"]] }], cost: 0 } as const;
  const { decision } = await engine.peek(request);
  return decision!.limit - decision!.remaining;
}

let left = CALLS;
await Promise.all(Array.from({ length: CLIENTS }, async () => {
  while (left-- > 0) await ask();
}));
const [streams, requests, tokens, money] = await Promise.all(
  ["streams", "requests", "tokens", "money"].map(takenOf),
);
console.log(`read ${JSON.stringify(totals)}`);
console.log(`billed ${JSON.stringify({ streams, requests, tokens, money })}`);
await store?.close();
client?.destroy();
