/*
 * `tidegate serve`: the decision service, until a signal ends it.
 */

import { availableParallelism } from "node:os";

import { sharesPort } from "../service/http/shared_port.ts";
import { errorText, lineLog } from "../service/log.ts";
import { serve } from "../service/serve.ts";
import type { ServeOptions } from "../service/serve_options.ts";
import {
  formatOf,
  integerOf,
  redisOf,
  type Tools,
  usageError,
  type Values,
} from "./command_options.ts";
import { sourceOf } from "./rules_at.ts";

/** Runs the service; resolves to the exit status once it has ended. */
export async function runServe(
  operands: readonly string[],
  values: Values,
  { print, env, ended: endOf }: Tools,
): Promise<number> {
  const [rules, ...more] = operands;
  if (rules === undefined || more.length > 0) {
    throw usageError("serve takes one operand: the rules");
  }
  // Asked for before the start, so that no signal comes too soon.
  const ended = endOf();
  const log = lineLog((line) => print(line.trimEnd()));
  const onError = (error: unknown) => log({ event: "redis-error", error: errorText(error) });
  const source = await sourceOf(rules, onError);
  const starting = serve({ ...optionsOf(values, env), rules: source, log });
  const isStarted = await Promise.race([starting.then(() => true), ended.then(() => false)]);
  // It is to end while it starts: what it waits for is let go of.
  if (!isStarted) await source.close?.();
  try {
    const service = await starting;
    await ended;
    await service.stop();
  } catch (error) {
    if (isStarted) throw error;
  }
  return 0;
}

function optionsOf(values: Values, env: Tools["env"]): Omit<ServeOptions, "rules" | "log"> {
  const cores = sharesPort() ? Math.min(8, availableParallelism()) : 1;
  return {
    format: formatOf(values),
    mergeDomains: values["merge-domains"],
    hostname: values.hostname,
    port: integerOf(values.port, "port") ?? 8080,
    grpcPort: values["no-grpc"] === true
      ? undefined
      : integerOf(values["grpc-port"], "grpc-port") ?? 8081,
    threads: integerOf(values.threads, "threads") ?? cores,
    capacity: integerOf(values.capacity, "capacity"),
    redis: redisOf(values),
    token: values.token ?? env.TIDEGATE_TOKEN,
    trustedProxies: values.trust?.split(","),
  };
}
