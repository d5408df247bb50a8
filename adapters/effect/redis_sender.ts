/*
 * Effect's `Redis` service as a sender of commands. It has one connection, which it opens again by
 * itself and shares with its other users. So the store watches no keys on it, and commits by script.
 */

import type * as Context from "effect/Context";
import * as Effect from "effect/Effect";

import { isErrorReply } from "../../stores/redis/failures/reply_failure.ts";
import type { RedisSender } from "../../stores/redis/redis_store.ts";
import type { Redis } from "./needs_effect_4_1.ts";

/**
 * Makes a sender of the service. Commands are sent at once, one after the other, without waiting for
 * replies between them.
 *
 * @param context The context of the service's effects, such as their logger.
 */
export function redisSender(
  redis: Redis.Redis["Service"],
  context: Context.Context<never>,
): RedisSender {
  const run = Effect.runPromiseWith(context);

  /** A reply; an error that the server replied is one, too. */
  const replyTo = ([name = "", ...rest]: readonly string[]) =>
    Effect.catch(
      redis.send(name, ...rest),
      ({ cause }) =>
        cause instanceof Error && isErrorReply(cause) ? Effect.succeed(cause) : Effect.fail(cause),
    );

  return {
    send: (commands) => run(Effect.forEach(commands, replyTo, { concurrency: "unbounded" })),
  };
}
