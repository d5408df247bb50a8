import * as Effect from "effect/Effect";

import { isPromise, type MaybePromise } from "../../core/maybe_promise.ts";

/** The attributes of a call's span. */
export type SpanAttributes = Readonly<Record<string, unknown>>;

/**
 * Goes on with an answer: at once, or when its promise is kept.
 *
 * The wait for a promise cannot be interrupted: calls on a store are short, and whoever made one
 * must know whether it was charged. It is a span, if it is given a name. A rejection is a defect.
 */
export function whenSettled<Answer, A, E>(
  answer: MaybePromise<Answer>,
  next: (answer: Answer) => Effect.Effect<A, E>,
  name?: string,
  attributes?: SpanAttributes,
): Effect.Effect<A, E> {
  if (!isPromise(answer)) return next(answer);
  const promise = Promise.resolve(answer);
  // An interrupt may come before anybody awaits it; a rejection must not end the process then.
  promise.catch(noOne);
  const awaited = Effect.uninterruptible(Effect.promise(() => promise));
  const traced = name === undefined ? awaited : Effect.withSpan(awaited, name, { attributes });
  return Effect.flatMap(traced, next);
}

function noOne(): void {}
