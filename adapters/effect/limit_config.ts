/*
 * A limit from the configuration. The name of the algorithm is read first, and then its options
 * alone: a schema of all algorithms would say what each of them misses, in 24 lines.
 */

import * as Config from "effect/Config";
import type * as ConfigProvider from "effect/ConfigProvider";
import * as Effect from "effect/Effect";
import * as Option from "effect/Option";
import * as Schema from "effect/Schema";

import { ALGORITHM_NAMES } from "../../core/rules/limit_options.ts";
import { type Limit, limit, type LimitOptions } from "./limit.ts";
import { SchemaIssue } from "./needs_effect_4_1.ts";
import { algorithmOf, messageOf, type Policy, singlePolicy } from "./policy.ts";

/**
 * A limit from the configuration: the policy at a path, by the names of its options.
 *
 * With `ConfigProvider.constantCase` on the environment, the path `api` reads `API_LIMIT`,
 * `API_PERIOD`, `API_ALGORITHM` and so on; the parts of `all` are `API_POLICIES_0_LIMIT` and so on.
 * An error says in one line what is wrong, and where.
 *
 * @param prefix The beginning of the limit's keys in the store.
 * @param path Where the policy lies in the configuration; at the prefix unless given.
 * @param options The options of `limit`.
 *
 * @example From the environment
 * ```ts
 * import { ConfigProvider, Effect } from "effect";
 * import { limitConfig } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const env = { API_ALGORITHM: "tokenBucket", API_LIMIT: "100", API_PERIOD: "1m", API_BURST: "20" };
 * const provider = ConfigProvider.constantCase(ConfigProvider.fromEnv({ env }));
 *
 * const api = await Effect.runPromise(limitConfig("api").parse(provider));
 * assert.equal(api.algorithm.id, "tokenBucket/100/60000");
 * ```
 */
export function limitConfig(
  prefix: string,
  path: string | ConfigProvider.Path = prefix,
  options: LimitOptions = {},
): Config.Config<Limit> {
  const place = typeof path === "string" ? [path] : path;
  const algorithm = Config.mapEffect(policyAt(place), (policy) =>
    Effect.try({
      try: () => algorithmOf(policy),
      catch: (cause) => new Config.ConfigError(faultAt(place, messageOf(cause))),
    }));
  return Config.map(algorithm, (algorithm) => limit(prefix, algorithm, options));
}

/** The name of a policy's algorithm, and of those of its parts. */
const Named = Schema.Struct({
  algorithm: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("gcra"))),
});
const Parts = Schema.NonEmptyArray(Named);

/** The schemas of single policies. */
const SINGLE = new Map<string, Schema.Codec<Policy, unknown>>(
  ALGORITHM_NAMES.map((name) => [name, singlePolicy(name) as Schema.Codec<Policy, unknown>]),
);

function policyAt(path: ConfigProvider.Path): Config.Config<Policy> {
  return Config.flatMap(
    Config.option(Config.schema(Named, path)),
    Option.match({
      onNone: () => absentAt(path),
      onSome: ({ algorithm }) => algorithm === "all" ? severalAt(path) : singleAt(path, algorithm),
    }),
  );
}

function singleAt(path: ConfigProvider.Path, algorithm: string): Config.Config<Policy> {
  const schema = SINGLE.get(algorithm);
  if (schema !== undefined) return inOneLine(Config.schema(schema, path));
  const names = [...ALGORITHM_NAMES, "all"].map((name) => `"${name}"`).join(", ");
  return Config.fail(faultAt([...path, "algorithm"], `Expected one of ${names}`));
}

function severalAt(path: ConfigProvider.Path): Config.Config<Policy> {
  const place = [...path, "policies"];
  return Config.flatMap(inOneLine(Config.schema(Parts, place)), (parts) => {
    const policies = Config.all(parts.map((_, index) => policyAt([...place, index])));
    return Config.map(policies, (policies) => ({ algorithm: "all", policies } as never as Policy));
  });
}

/** A configuration whose error has one line: the first issue of several, and its place. */
function inOneLine<Value>(config: Config.Config<Value>): Config.Config<Value> {
  return Config.orElse(config, ({ cause }) => {
    if (cause._tag === "SourceError") return Config.fail(cause);
    const [message = "", place = ""] = cause.message.split("\n");
    return Config.fail(faultAt([], `${message} ${place.trim()}`));
  });
}

/**
 * A configuration that is absent, for `Config.withDefault` and `Config.option`. Effect adds a line to
 * the message for the path of a schema, and the root has none.
 */
function absentAt(path: ConfigProvider.Path): Config.Config<never> {
  const message = `Expected the options of a limit${textOf(path)}`;
  return Config.schema(Schema.Never.annotate({ message }), []);
}

function faultAt(path: ConfigProvider.Path, message: string): Schema.SchemaError {
  const text = `${message}${textOf(path)}`;
  return new Schema.SchemaError(new SchemaIssue.InvalidValue({ message: text }));
}

function textOf(path: ConfigProvider.Path): string {
  const segments = path.map((segment) => `[${JSON.stringify(segment)}]`);
  return segments.length === 0 ? "" : ` at ${segments.join("")}`;
}
