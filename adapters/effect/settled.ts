import * as Effect from "effect/Effect";

/** What a span says of a call. */
export type SpanAttributes = Readonly<Record<string, unknown>>;

/**
 * Goes on with an answer: at once, or when its promise is kept.
 *
 * The wait for a promise cannot be interrupted: calls on a store are short, and whoever made one
 * must know whether it was charged. It is a span, if it is given a name. A rejection is a defect.
 */
export function settled<Answer, A, E>(
  answer: Answer | Promise<Answer>,
  tell: (answer: Answer) => Effect.Effect<A, E>,
  name?: string,
  attributes?: SpanAttributes,
): Effect.Effect<A, E> {
  if (!(answer instanceof Promise)) return tell(answer);
  // An interrupt may come before anybody awaits it; a rejection must not end the process then.
  answer.catch(noOne);
  const awaited = Effect.uninterruptible(Effect.promise(() => answer));
  const traced = name === undefined ? awaited : Effect.withSpan(awaited, name, { attributes });
  return Effect.flatMap(traced, tell);
}

function noOne(): void {}
