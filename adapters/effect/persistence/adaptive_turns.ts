/*
 * What Effect's own rate limiter learns from a server's refusals, as pure turns.
 *
 *   phase      means                                               left when
 *   inactive   nothing known: the initial state                    a refusal says how long to wait
 *   cooldown   nobody calls until cooldownUntil                    that instant has come
 *   learning   calls are counted from learningStartedAt            the next refusal
 *   learned    learnedLimit calls per learnedWindow are let go     a refusal: the server is stricter
 *
 * Each change of phase that a call causes raises the epoch; feedback of an older epoch is stale and
 * is not heard. A state that nobody has touched for a while is forgotten.
 */

import type { AdaptivePhase } from "effect/persistence/RateLimiter";

import { fieldsCodec, type Machine, type Turn } from "./store_machine.ts";

const INACTIVE = 0;
const COOLDOWN = 1;
const LEARNING = 2;
const LEARNED = 3;

/** The phase as a word. */
const PHASES: readonly AdaptivePhase[] = ["inactive", "cooldown", "learning", "learned"];

/** How long a state is remembered beyond its use. */
const GRACE = 60_000;

/** The longest window that is learned. */
const LONGEST_WINDOW = 3_600_000;

/** What has been learned of a server; instants and durations in milliseconds. */
export interface AdaptiveState {
  /** Place in the list of phases. */
  readonly phase: number;
  readonly epoch: number;
  readonly cooldownUntil: number;
  readonly learningStartedAt: number;
  readonly observedTokens: number;
  readonly learnedLimit: number;
  readonly learnedWindow: number;
  readonly expiresAt: number;
}

const NOTHING_LEARNED: AdaptiveState = Object.freeze({
  phase: INACTIVE,
  epoch: 0,
  cooldownUntil: 0,
  learningStartedAt: 0,
  observedTokens: 0,
  learnedLimit: 0,
  learnedWindow: 0,
  expiresAt: 0,
});

/** How it is kept. */
export const adaptiveMachine: Machine<AdaptiveState> = Object.freeze({
  id: "effectAdaptive",
  initial: NOTHING_LEARNED,
  codec: fieldsCodec("d1", NOTHING_LEARNED, [
    "phase",
    "epoch",
    "cooldownUntil",
    "learningStartedAt",
    "observedTokens",
    "learnedLimit",
    "learnedWindow",
    "expiresAt",
  ]),
});

/** What a call is told. */
export interface AdaptiveAnswer {
  /** Milliseconds to wait. */
  readonly delay: number;
  readonly epoch: number;
  readonly phase: AdaptivePhase;
}

/** A call that wants to go out. */
export function adaptiveCallTurn(
  { tokens, fallbackWindow }: { readonly tokens: number; readonly fallbackWindow: number },
): (state: AdaptiveState, now: number) => Turn<AdaptiveAnswer, AdaptiveState> {
  return function turn(held, now) {
    const state = live(held, now);
    switch (state.phase) {
      case COOLDOWN: {
        if (state.cooldownUntil > now) return answer(state.cooldownUntil - now, state, held, now);
        return answer(
          0,
          {
            ...state,
            phase: LEARNING,
            epoch: state.epoch + 1,
            learningStartedAt: now,
            observedTokens: tokens,
            expiresAt: now + fallbackWindow + GRACE,
          },
          held,
          now,
        );
      }
      case LEARNING: {
        const observedTokens = state.observedTokens + tokens;
        return answer(0, { ...state, observedTokens }, held, now);
      }
      case LEARNED: {
        const next = paced(state, tokens, now);
        return answer(delayOf(next, now), next, held, now);
      }
      default:
        return answer(0, state, held, now);
    }
  };
}

/** A response: only a refusal that says how long to wait teaches anything. */
export function adaptiveFeedbackTurn(
  { epoch, tokens, retryAfter }: {
    readonly epoch: number;
    readonly tokens: number;
    readonly retryAfter: number;
  },
): (state: AdaptiveState, now: number) => Turn<undefined, AdaptiveState> {
  return function turn(held, now) {
    const next = taught(live(held, now), epoch, tokens, clamped(retryAfter), now);
    return { answer: undefined, state: next, freshAfter: next.expiresAt - now };
  };
}

function taught(
  state: AdaptiveState,
  epoch: number,
  tokens: number,
  wait: number,
  now: number,
): AdaptiveState {
  const until = now + wait;
  if (state.epoch !== epoch) return state;
  if (state.phase === COOLDOWN) return cooling(state, Math.max(state.cooldownUntil, until));
  const accepted = state.observedTokens - tokens;
  if (state.phase !== LEARNING || accepted <= 0) {
    return cooling({ ...NOTHING_LEARNED, epoch }, until);
  }
  const learnedWindow = clamped(now - state.learningStartedAt + wait);
  return {
    ...state,
    phase: LEARNED,
    epoch: epoch + 1,
    cooldownUntil: state.learningStartedAt + learnedWindow,
    observedTokens: accepted,
    learnedLimit: accepted,
    learnedWindow,
    expiresAt: now + learnedWindow + GRACE,
  };
}

function cooling(state: AdaptiveState, cooldownUntil: number): AdaptiveState {
  return { ...state, phase: COOLDOWN, cooldownUntil, expiresAt: cooldownUntil + GRACE };
}

/** Counts the tokens in the window learned, or opens the next one. */
function paced(state: AdaptiveState, tokens: number, now: number): AdaptiveState {
  const over = state.cooldownUntil <= now;
  const from = over ? now : state.cooldownUntil;
  return {
    ...state,
    observedTokens: (over ? 0 : state.observedTokens) + tokens,
    cooldownUntil: from + state.learnedWindow / state.learnedLimit * tokens,
  };
}

/** Milliseconds until the window that the newest token belongs to. */
function delayOf(state: AdaptiveState, now: number): number {
  const { observedTokens, learnedLimit, learnedWindow, cooldownUntil } = state;
  const elapsed = observedTokens * (learnedWindow / learnedLimit) - (cooldownUntil - now);
  const window = Math.floor((observedTokens - 1) / learnedLimit);
  return Math.max(0, window * learnedWindow - elapsed);
}

function answer(
  delay: number,
  next: AdaptiveState,
  held: AdaptiveState,
  now: number,
): Turn<AdaptiveAnswer, AdaptiveState> {
  const phase = PHASES[next.phase]!;
  const told = phase === "inactive" ? { delay: 0, epoch: 0, phase } : {
    delay,
    epoch: next.epoch,
    phase,
  };
  // What has run out is the same as nothing, and need not be written.
  const state = next === NOTHING_LEARNED && held.phase === INACTIVE ? held : next;
  return { answer: told, state, freshAfter: next.expiresAt - now };
}

function live(state: AdaptiveState, now: number): AdaptiveState {
  return state.expiresAt > now ? state : NOTHING_LEARNED;
}

function clamped(milliseconds: number): number {
  return milliseconds > 0 ? Math.min(milliseconds, LONGEST_WINDOW) : 1;
}
