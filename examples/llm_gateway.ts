/*
 * A gateway in front of language models. For each tenant it limits concurrent streams, requests and
 * tokens a minute, and money a month. For each provider it limits the tokens a minute to the bought
 * amount, so that a spare provider takes over. A call is one decision with one receipt, which is
 * settled once:
 *
 *   reserve   an estimate, before the model is asked
 *   renew     while the stream is open
 *   settle    with the tokens that the client has read, however the stream ends
 *
 * Tokens are counted as the client pulls them, because providers state the usage only in the last
 * chunk. So a client that leaves early pays for the tokens that it has read, and for nothing else.
 *
 *   bun examples/llm_gateway.ts
 */
import { headerWriter, problem, retryAfterField } from "tidegate/http";
import {
  type RuleEngine,
  ruleEngine,
  type RuleFile,
  type RuleReceipt,
  shownPolicies,
  type Verdict,
} from "tidegate/rules";

/** A part of a model's answer. */
export interface Chunk {
  readonly text: string;
  readonly tokens: number;
}

/** A model at a provider. */
export interface Model {
  readonly provider: string;
  /** The price of a token, in millionths of a dollar: money is counted in integers. */
  readonly price: number;
  /** Answers a prompt, until the signal is aborted. */
  stream(prompt: string, signal: AbortSignal): AsyncIterable<Chunk>;
}

/** The options that all limits of units share. No stream lasts longer than its receipt is open. */
const SETTLED = { reservable: true, within: "10m" } as const;
const LONGEST_STREAM = 540_000;

/** The limits, which could be a file, too. */
export const RULES: RuleFile = {
  domain: "llm",
  rules: [
    { key: "streams", limits: [{ algorithm: "concurrency", limit: 20, ttl: "30s" }] },
    {
      key: "requests",
      limits: [{ ...SETTLED, limit: 600, period: "1m", burst: 600, name: "requests" }],
    },
    {
      key: "tokens",
      limits: [{ ...SETTLED, limit: 200_000, period: "1m", burst: 200_000, name: "tokens" }],
    },
    {
      key: "money",
      limits: [{
        ...SETTLED,
        algorithm: "calendarWindow",
        limit: 25_000_000, // 25 dollars
        every: "month",
        zone: "UTC",
        name: "money",
      }],
    },
    {
      key: "provider",
      name: "provider",
      limits: [{ ...SETTLED, limit: 400_000, period: "1m", burst: 400_000 }],
    },
  ],
};

/** The tokens to reserve. A client may ask for fewer, but not for more. */
const MOST_RESERVED = 1_000;

/** Makes the gateway. It tries the providers in their order. */
export function gateway(
  engine: RuleEngine,
  models: readonly Model[],
): (request: Request) => Promise<Response> {
  return async function handle(request) {
    const tenant = request.headers.get("x-tenant"); // set by what has authenticated the client
    if (tenant === null) return new Response("Unauthorized", { status: 401 });
    const { prompt, maxTokens = MOST_RESERVED } = await request.json();
    const asked = Math.ceil(prompt.length / 4);
    const estimate = asked + Math.min(maxTokens, MOST_RESERVED);
    let refusal: Verdict | undefined;
    for (const model of models) {
      const { verdict, receipt } = await reserve(engine, tenant, model, estimate);
      if (receipt !== undefined) {
        const body = streamOf(engine, receipt, model, prompt, asked);
        const headers = fieldsOf(verdict);
        headers.set("x-provider", model.provider);
        return new Response(body, { headers });
      }
      refusal = verdict;
      // Another provider helps only if the budget at this one is used up.
      if (!verdict.rules.some(({ rule, allowed }) => rule.name === "provider" && !allowed)) break;
    }
    return refused(refusal!);
  };
}

function reserve(engine: RuleEngine, tenant: string, model: Model, tokens: number) {
  const descriptors = [
    { entries: [["streams", tenant] as const], cost: 1 },
    { entries: [["requests", tenant] as const], cost: 1 },
    { entries: [["tokens", tenant] as const], cost: tokens },
    { entries: [["money", tenant] as const], cost: tokens * model.price },
    { entries: [["provider", model.provider] as const], cost: tokens },
  ];
  return engine.reserve({ domain: "llm", descriptors });
}

/** The answer of a model. No chunk is requested before the client reads it. */
function streamOf(
  engine: RuleEngine,
  receipt: RuleReceipt,
  model: Model,
  prompt: string,
  asked: number,
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  const chunks = model.stream(prompt, stop.signal)[Symbol.asyncIterator]();
  const endsAt = performance.now() + LONGEST_STREAM;
  let tokens = asked;
  let ended = false;
  let controller: ReadableStreamDefaultController<Uint8Array>;

  async function end(): Promise<void> {
    if (ended) return;
    ended = true;
    clearInterval(heartbeat);
    stop.abort();
    await settle(engine, receipt, [undefined, undefined, tokens, tokens * model.price, tokens]);
  }

  async function fail(error: unknown): Promise<void> {
    await end();
    controller.error(error);
  }

  const heartbeat = setInterval(async () => {
    // If the store does not answer, the permit is not lost yet.
    const isHeld = await Promise.resolve().then(() => engine.renew(receipt)).catch(() => true);
    if (ended || (isHeld && performance.now() < endsAt)) return;
    await fail(new Error("The stream has lost its place, or has lasted too long"));
  }, receipt.ttl! / 3);

  return new ReadableStream<Uint8Array>({
    start(own) {
      controller = own;
    },
    async pull() {
      try {
        const { done, value } = await chunks.next();
        if (ended) return; // the client has gone meanwhile, and has not read this chunk
        if (done === true) {
          await end();
          return controller.close();
        }
        tokens += value.tokens;
        controller.enqueue(new TextEncoder().encode(value.text));
      } catch (error) {
        if (!ended) await fail(error);
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}

/** Settles, and settles again if the answer was lost. A second time changes nothing. */
async function settle(
  engine: RuleEngine,
  receipt: RuleReceipt,
  actual: readonly (number | undefined)[],
): Promise<void> {
  try {
    await Promise.resolve().then(() => engine.settle(receipt, actual))
      .catch(() => engine.settle(receipt, actual));
  } catch (error) {
    console.error("A call was not settled: its estimate stays charged", error);
  }
}

/** The RateLimit fields of the tenant's own limits. */
function fieldsOf({ rules }: Verdict): Headers {
  const { policies, decisions } = shownPolicies(
    rules.filter(({ rule }) => rule.name !== "provider"),
  );
  return new Headers(headerWriter(policies)(decisions, Date.now()).map(([...field]) => field));
}

function refused(verdict: Verdict): Response {
  const headers = fieldsOf(verdict);
  const wait = verdict.decision?.retryAfter ?? Infinity;
  if (wait < Infinity) headers.append(...retryAfterField(wait));
  headers.set("content-type", "application/problem+json");
  const body = JSON.stringify(problem("quota-exceeded", []));
  return new Response(body, { status: 429, headers });
}

/** A fake provider. It answers with that many chunks, of one to five tokens each. */
export function fakeModel(provider: string, price: number, chunks: number): Model {
  return {
    provider,
    price,
    async *stream(_prompt, signal) {
      for (let chunk = 0; chunk < chunks; chunk++) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        if (signal.aborted) return;
        const tokens = 1 + chunk % 5;
        yield { text: "word ".repeat(tokens), tokens };
      }
    },
  };
}

if (import.meta.main) {
  const engine = ruleEngine({ rules: RULES });
  const models = [fakeModel("first", 2, 20), fakeModel("spare", 2, 20)];
  const handle = gateway(engine, models);
  const prompt = "Tell me about tides.";
  let read = 0;

  /** Reads an answer, or leaves after that many chunks. */
  const ask = async (leaveAfter: number): Promise<void> => {
    const response = await handle(
      new Request("http://localhost/", {
        method: "POST",
        headers: { "x-tenant": "ada" },
        body: JSON.stringify({ prompt }),
      }),
    );
    read += prompt.length / 4;
    const reader = response.body!.getReader();
    for (let chunk = 0; chunk < leaveAfter; chunk++) {
      const { done, value } = await reader.read();
      if (done) return;
      read += new TextDecoder().decode(value).split(" ").length - 1;
    }
    await reader.cancel();
  };

  for (let round = 0; round < 6; round++) {
    await Promise.all([Infinity, Infinity, 3 + round].map(ask));
  }
  const look = { domain: "llm", descriptors: [{ entries: [["money", "ada"]] }], cost: 0 } as const;
  const { decision } = await engine.peek(look);
  const billed = (25_000_000 - decision!.remaining) / 2;
  console.log(`${read} tokens read, ${billed} tokens billed`);
}
