/*
 * Effect's own `RateLimiterStore` on a store of tidegate.
 *
 * A store does one thing: it replaces a key's state by a pure function of it. An algorithm is such
 * a function with an answer of a fixed form. Here the function is made for one call, and reports
 * its own answer on the side; the decision that the store hands back only says how long the state
 * must be kept. After a lost race the store calls again, and the last answer belongs to the
 * committed state.
 *
 * The functions work like those of Effect's memory store, state in and state out. A state that
 * equals a fresh one is forgotten; Effect's memory store keeps it.
 */

import * as Clock from "effect/Clock";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";

import type { Algorithm } from "../../core/algorithm.ts";
import { numbersCodec } from "../../core/arithmetic/numbers_codec.ts";
import type { Codec } from "../../core/codec.ts";
import type { Decision } from "../../core/decision.ts";
import { makeDecision } from "../../core/make_decision.ts";
import type { MaybePromise } from "../../core/maybe_promise.ts";
import { checkText } from "../../core/options/checks.ts";
import type { Store, StoreBase, Verb } from "../../core/store.ts";
import { callStore, timeOf } from "./bound_limit.ts";
import {
  layerStoreMemory,
  RateLimiterError,
  RateLimiterStore,
  RateLimitStoreError,
} from "./needs_effect_4_1.ts";

/**
 * Effect's own `RateLimiterStore` on a store of tidegate, so that its `RateLimiter`, and with it
 * `HttpClient.withRateLimiter`, can count in shared memory across threads, or in any other store,
 * whether it answers at once or by promises.
 *
 * It decides as Effect's memory store does. Unlike that store, it forgets a key once the key is
 * fresh again. Nothing is written for a refusal.
 *
 * `withRateLimiter` also learns facts about a server from its refusals. These are not shared: each
 * layer keeps them to itself, in a memory store of Effect's own.
 *
 * @param store Any store, which the caller has to close.
 * @param options `prefix`, the beginning of its keys in the store; default `"effect"`. A bad one, or
 * a store that cannot hold its states, is a defect.
 *
 * @example
 * ```ts
 * import { Effect, Layer } from "effect";
 * import { RateLimiter } from "effect/persistence";
 * import { memoryStore } from "tidegate";
 * import { layerRateLimiterStore } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const program = Effect.gen(function* () {
 *   const limiter = yield* RateLimiter.RateLimiter;
 *   return yield* limiter.consume({ key: "api.example", limit: 10, window: "1 second" });
 * });
 *
 * const layer = Layer.provide(RateLimiter.layer, layerRateLimiterStore(memoryStore()));
 * const { remaining } = await Effect.runPromise(Effect.provide(program, layer));
 * assert.equal(remaining, 9);
 * ```
 */
export function layerRateLimiterStore(
  store: Store,
  options: { readonly prefix?: string | undefined } = {},
): Layer.Layer<RateLimiterStore> {
  const { prefix = "effect" } = options;
  const made = Effect.map(RateLimiterStore, ({ adaptiveConsume, adaptiveFeedback }) => {
    checkText("create layerRateLimiterStore", "prefix", prefix);
    const counter = stepperOn(store, prefix, COUNTER);
    const bucket = stepperOn(store, prefix, BUCKET);
    return RateLimiterStore.of({
      fixedWindow: ({ key, tokens, refillRate, limit }) =>
        counter(key, counterTurn(tokens, Duration.toMillis(refillRate), limit)),
      tokenBucket: ({ key, tokens, refillRate, limit, allowOverflow }) =>
        bucket(key, bucketTurn(tokens, Duration.toMillis(refillRate), limit, allowOverflow)),
      adaptiveConsume,
      adaptiveFeedback,
    });
  });
  return Layer.provide(Layer.effect(RateLimiterStore, made), Layer.fresh(layerStoreMemory));
}

/** The state of a key: tokens, and the instant that they count from. */
type State = readonly [tokens: number, instant: number];

/**
 * The result of a call on a state: its answer, the state after it, and how long that state must be
 * kept.
 */
interface Turn {
  readonly answer: readonly [tokens: number, milliseconds: number];
  /** The same state if nothing changes; the fresh state if the result equals it. */
  readonly state: State;
  /** Milliseconds until the state equals a fresh one. */
  readonly freshAfter: number;
}

/** How states are kept: their name in stored keys, and their codec. */
interface Kind {
  readonly id: string;
  readonly fresh: State;
  readonly codec: Codec<State>;
}

/** A counter holds the units taken, and when it starts anew. */
export const COUNTER: Kind = kindOf("effectFixedWindow", "c1", [0, 0]);
/** A bucket holds the tokens left, and when the current interval began; a fresh bucket is full. */
export const BUCKET: Kind = kindOf("effectTokenBucket", "b1 0", [Infinity, 0]);

function kindOf(id: string, version: string, fresh: State): Kind {
  return { id, fresh, codec: numbersCodec(version, fresh, (state) => !state.some(Number.isNaN)) };
}

/**
 * Takes tokens from a counter. Each token prolongs the counter by one refill interval. Answers the
 * count afterwards and the counter's time to live. If there is no limit, or the limit is 0, nothing
 * is refused.
 */
function counterTurn(tokens: number, refillRate: number, limit: number | undefined) {
  return function turn(state: State, now: number): Turn {
    const [taken, end] = state[1] > now ? state : [0, now];
    const count = taken + tokens;
    const isRefused = Boolean(limit) && count > limit!;
    // The sum has the same order as in Effect's own store, so that floats round in the same way.
    const until = isRefused ? end : end + refillRate * tokens;
    const freshAfter = until - now;
    const next: State = isRefused ? state : [count, until];
    return {
      answer: [count, freshAfter],
      state: freshAfter > 0 ? next : COUNTER.fresh,
      freshAfter,
    };
  };
}

/**
 * Takes tokens from a bucket that gains one token at the end of each refill interval, in advance
 * where it may overflow; answers with the tokens left, and how far the current interval has come.
 */
function bucketTurn(tokens: number, refillRate: number, limit: number, mayOverflow: boolean) {
  return function turn(state: State, now: number): Turn {
    const gained = Math.max(0, Math.floor((now - state[1]) / refillRate));
    const renews = gained > 0 || state[0] === Infinity;
    const held = renews ? Math.min(limit, state[0] + gained) : state[0];
    const began = held >= limit ? now : state[1] + gained * refillRate;
    const elapsed = Math.max(0, now - began);
    const left = held - tokens;
    const isRefused = left < 0 && !mayOverflow;
    const kept = isRefused ? held : left;
    const next: State = isRefused ? state : [left, began];
    return {
      answer: [left, elapsed],
      state: kept >= limit ? BUCKET.fresh : next,
      freshAfter: (limit - kept) * refillRate - elapsed,
    };
  };
}

/** A call's turn: a function from a state and an instant to its result. */
type TurnOf = (state: State, now: number) => Turn;

/** The answer of a turn, and the decision by which a store keeps the state. */
interface TurnAnswer {
  readonly answer: Turn["answer"];
  readonly decision: Decision;
}

/** A turn as a verb. It admits everything. */
const TURN: Verb<TurnOf, TurnAnswer> = Object.freeze({
  name: "turn",
  kind: "take",
  units: () => 1,
  on: () => ({
    next: (state: unknown, now: number, turn: TurnOf) => turn(state as State, now).state,
    answer: (state: unknown, _next: unknown, now: number, turn: TurnOf) =>
      answerOf(turn(state as State, now)),
  }),
  decisionOf: ({ decision }: TurnAnswer) => decision,
  answerOf: (decision: Decision, answer?: TurnAnswer) => ({
    answer: answer?.answer ?? [0, 0],
    decision,
  }),
  transition: () => undefined,
});

function answerOf({ answer, freshAfter }: Turn): TurnAnswer {
  return { answer, decision: kept(Math.max(0, Math.ceil(freshAfter))) };
}

/**
 * Makes a function that replaces a key's state by the result of a turn, atomically, and answers. The
 * time comes from the fiber's clock; on the default clock it is the store's.
 *
 * @throws {RangeError} If the store cannot hold its states.
 */
function stepperOn(store: Store, prefix: string, { id, fresh, codec }: Kind) {
  const look: Algorithm<State>["step"] = (state) => [kept(0), state];
  const parts = { name: id, id, policies: [], capacity: 1, initial: fresh, codec };
  const algorithm = { ...parts, step: look, charge: look } as unknown as Algorithm;
  const { call } = (store as StoreBase).open({ prefix, algorithm, older: [] }).bind(TURN);

  return function step(key: string, turn: TurnOf) {
    return Effect.withFiber((fiber) => {
      const now = timeOf(fiber.getRef(Clock.Clock));
      return callStore(
        () => call(key, turn, now) as MaybePromise<TurnAnswer>,
        ({ answer }) => Effect.succeed(answer),
        failureOf,
      );
    });
  };
}

function kept(resetAfter: number): Decision {
  return makeDecision(true, 1, 1, 0, 0, resetAfter, 0, 0, undefined, undefined);
}

function failureOf(cause: unknown): RateLimiterError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new RateLimiterError({ reason: new RateLimitStoreError({ message, cause }) });
}
