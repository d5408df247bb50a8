/*
 * Rules from Redis: a hash of documents, and a hash of individual limits of keys.
 *
 * After changing a hash, publish to a channel. A message can be lost (the connection was down), so
 * the documents are also read at intervals, and the cache forgets limits of keys after a time.
 * Values are measured before they are read.
 */

import { ALGORITHM_NAMES } from "../../../core/rules/rules.ts";
import { checkOptions, formatValue } from "../../../core/options/checks.ts";
import { withTimeout } from "../../../core/with_timeout.ts";
import { clientError, unsupportedName } from "../../../stores/redis/clients/unsupported_clients.ts";
import type { KeyLimits } from "../engine/key_limits.ts";
import { ruleSchema } from "../files/rule_schema.ts";
import { pathText } from "../files/rule_problem.ts";
import { LONGEST_TEXT, type RuleDocument } from "../files/rule_file.ts";
import { schemaFaults } from "../files/check_schema.ts";
import type { RuleSource } from "./rule_source.ts";

/** The part of a node-redis client that is used. */
export interface RedisRulesClient {
  /** The fields of a hash. */
  hKeys(key: string): Promise<string[]>;
  /** The length of a field's value in bytes; 0 if it is not there. */
  hStrLen(key: string, field: string): Promise<number>;
  /** A field's value. */
  hGet(key: string, field: string): Promise<string | null>;
  /** A second client for the same server. */
  duplicate(): RedisSubscriber;
}

/** The part of a second connection that is used to listen. */
export interface RedisSubscriber {
  /** Listens for errors of the connection. */
  on(event: "error", listener: (error: unknown) => void): unknown;
  /** Opens the connection. */
  connect(): Promise<unknown>;
  /** Listens to a channel. */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  /** Ends the connection at once. */
  destroy(): void;
}

/** The options of `redisSource`. */
export interface RedisSourceOptions {
  /** The hash of documents, by name; default `"tidegate:rules"`. Also the channel's name. */
  readonly key?: string | undefined;
  /** The hash of limits, by `domain/key`; default `"tidegate:limits"`. */
  readonly limitsKey?: string | undefined;
  /** Milliseconds between reads in case a message was lost; default 30,000. */
  readonly pollEvery?: number | undefined;
  /** Milliseconds that a read of all documents may take; default 10,000. */
  readonly deadline?: number | undefined;
}

/** The most documents. */
const MAX_DOCUMENTS = 1_000;

/** The longest value of a key's limits. */
const LONGEST_LIMITS = 65_536;

/** The message to the channel that says that limits of keys have changed. */
const LIMITS_MESSAGE = "limits";

/**
 * A source of rules in Redis. Documents lie in a hash: a field is a name such as `shop.yaml`, its
 * value YAML or JSON. Limits of keys lie in another one: a field is the domain and the key,
 * `shop/user=42`, its value `"unlimited"`, `"blocked"` or a list of limits as JSON.
 *
 * After a change, publish to the channel of the first hash's name: `limits` if keys' limits have
 * changed, anything else for documents.
 *
 * @param client A connected node-redis client; the source opens a second connection to listen.
 *
 * @example
 * ```ts
 * import { followRules, type RedisRulesClient, redisSource, ruleEngine } from "tidegate/rules";
 *
 * async function start(client: RedisRulesClient) {
 *   const source = redisSource(client);
 *   const engine = ruleEngine({ lookup: source.lookup });
 *   return await followRules(source, {
 *     apply: (rules) => engine.replace(rules),
 *     onLimitsChanged: () => engine.forgetLookups(),
 *   });
 * }
 * console.log(typeof start);
 * ```
 */
export function redisSource(
  client: RedisRulesClient,
  options: RedisSourceOptions = {},
): RuleSource {
  if (typeof client?.hGet !== "function" || unsupportedName(client) !== undefined) {
    const rule = "the client must come from node-redis 5.1 or later (run npm install redis@6, " +
      "and pass what createClient returns)";
    throw clientError("create redisSource", rule, client);
  }
  checkOptions<RedisSourceOptions>("create redisSource", options, {
    key: true,
    limitsKey: true,
    pollEvery: true,
    deadline: true,
  });
  const { key = "tidegate:rules", limitsKey = "tidegate:limits" } = options;
  const { pollEvery = 30_000, deadline = 10_000 } = options;

  function late(): never {
    throw new Error(`Cannot read the hash ${key} because it took over ${deadline} ms`);
  }

  return {
    name: `Redis hash ${key}`,
    async lookup(domain, wanted) {
      const field = `${domain}/${wanted}`;
      const text = await readBounded(client, limitsKey, field, LONGEST_LIMITS);
      return text === "" ? undefined : limitsOf(text, `${limitsKey} ${field}`);
    },
    load: () => withTimeout(readDocuments(client, key), deadline, late),
    watch(changed, limitsChanged) {
      const unsubscribe = subscribe(
        client.duplicate(),
        key,
        (message) => message === LIMITS_MESSAGE ? limitsChanged() : changed(),
      );
      const poll = setInterval(changed, pollEvery);
      (poll as { unref?: () => void }).unref?.();
      return () => {
        clearInterval(poll);
        unsubscribe();
      };
    },
  };
}

/** The value of a field; empty if it is not there. */
async function readBounded(
  client: RedisRulesClient,
  hash: string,
  field: string,
  most: number,
): Promise<string> {
  const length = await client.hStrLen(hash, field);
  if (length > most) {
    throw new Error(
      `Cannot use ${hash} ${field} as it must be at most ${most} bytes long: it is ${length}`,
    );
  }
  return length === 0 ? "" : await client.hGet(hash, field) ?? "";
}

async function readDocuments(
  client: RedisRulesClient,
  hash: string,
): Promise<readonly RuleDocument[]> {
  const names = (await client.hKeys(hash)).sort();
  if (names.length === 0 || names.length > MAX_DOCUMENTS) {
    throw new Error(
      `Cannot load rules as the hash ${hash} must hold 1 to ${MAX_DOCUMENTS} fields: it has ${names.length}`,
    );
  }
  const documents: RuleDocument[] = [];
  for (const name of names) {
    documents.push({ name, text: await readBounded(client, hash, name, LONGEST_TEXT) });
  }
  return documents;
}

/** Listens to a channel on a best effort: periodic reads find what it misses. */
function subscribe(
  subscriber: RedisSubscriber,
  channel: string,
  listener: (message: string) => void,
): () => void {
  let ended = false;

  async function listen(): Promise<void> {
    await subscriber.connect();
    if (ended) return subscriber.destroy();
    await subscriber.subscribe(channel, listener);
  }

  // While the connection is down the client dials it again.
  subscriber.on("error", () => {});
  listen().catch(() => {});
  return () => {
    ended = true;
    try {
      subscriber.destroy();
    } catch {
      // The connection was not open yet; `listen` destroys it as soon as it is open.
    }
  };
}

function limitsOf(text: string, name: string): KeyLimits {
  const data: unknown = JSON.parse(text);
  if (data === "unlimited" || data === "blocked") return data;
  const schema = { type: "array", minItems: 1, items: { $ref: "#/$defs/limit" } } as const;
  const [fault] = schemaFaults({ ...schema, $defs: ruleSchema.$defs! }, data);
  if (fault === undefined) return data as KeyLimits;
  const place = fault.path.length === 0 ? "" : `${pathText(fault.path)}: `;
  throw new TypeError(
    `Cannot use ${name} as it must be "unlimited", "blocked" or a list of limits (${
      ALGORITHM_NAMES[0]
    }, ...): ${place}${fault.message}, in ${formatValue(text)}`,
  );
}
