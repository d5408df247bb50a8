import * as Effect from "effect/Effect";

/** What a call threw. */
export interface Thrown {
  readonly cause: unknown;
}

/**
 * A call that answers at once or by a promise, as an effect.
 *
 * It cannot be interrupted: calls on a store are short, and whoever made one must know whether it
 * was charged.
 */
export function settled<Answer>(
  call: () => Answer | Promise<Answer>,
): Effect.Effect<Answer, Thrown> {
  const asked = Effect.flatMap(
    Effect.try({ try: call, catch: thrown }),
    (answer) =>
      answer instanceof Promise
        ? Effect.tryPromise({ try: () => answer, catch: thrown })
        : Effect.succeed(answer),
  );
  return Effect.uninterruptible(asked);
}

/** What a call threw, to be told from what an effect failed with. */
export function thrown(cause: unknown): Thrown {
  return { cause };
}
