import * as Config from "effect/Config";
import type * as ConfigProvider from "effect/ConfigProvider";

import { type Limit, limit, type LimitOptions } from "./limit.ts";
import { algorithmOf, Policy } from "./policy.ts";

/**
 * A limit from the configuration: the policy at a path, by the names of its options.
 *
 * With `ConfigProvider.constantCase` on the environment, the path `api` reads `API_LIMIT`,
 * `API_PERIOD`, `API_ALGORITHM` and so on; the parts of `all` are `API_POLICIES_0_LIMIT` and so on.
 *
 * @param prefix What the limit's keys begin with.
 * @param path Where the policy lies in the configuration; at the prefix unless given.
 * @param options Those of `limit`.
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
 * assert.equal(api.algorithm.id, "tokenBucket/100/60000/20");
 * ```
 */
export function limitConfig(
  prefix: string,
  path: string | ConfigProvider.Path = prefix,
  options: LimitOptions = {},
): Config.Config<Limit> {
  return Config.map(
    Config.schema(Policy, path),
    (policy) => limit(prefix, algorithmOf(policy), options),
  );
}
