import * as Effect from "effect/Effect";

/** What a span says of a call. */
export type SpanAttributes = Readonly<Record<string, unknown>>;

/**
 * A call that answers at once or by a promise, as an effect.
 *
 * It cannot be interrupted: calls on a store are short, and whoever made one must know whether it
 * was charged. One that answers by a promise is a span, if it is given a name.
 *
 * @param call What to call.
 * @param onThrow What becomes of what it throws, or of its rejection.
 */
export function settled<Answer, E>(
  call: () => Answer | Promise<Answer>,
  onThrow: (cause: unknown) => Effect.Effect<never, E>,
  name?: string,
  attributes?: SpanAttributes,
): Effect.Effect<Answer, E> {
  const asked = Effect.suspend(() => {
    const answer = call();
    if (!(answer instanceof Promise)) return Effect.succeed(answer);
    const awaited = Effect.uninterruptible(Effect.promise(() => answer));
    return name === undefined ? awaited : Effect.withSpan(awaited, name, { attributes });
  });
  return Effect.catchDefect(asked, onThrow);
}
