/*
 * Holders of permits and a network between them and whatever keeps the permits: it loses messages and
 * answers, doubles them, and delivers some of them long after they were sent. Each message that
 * arrives is put to a model, too: ids in a list.
 */

import assert from "node:assert/strict";

import { type Algorithm, concurrency } from "../../../mod.ts";
import type { PermitStep, SendPermitStep } from "../../../adapters/testing/permit_laws.ts";
import { type PermitAct, permitModel } from "../../../adapters/testing/models/permit_model.ts";
import { numbersFrom } from "../numbers_from.ts";
import { fcOptions, isLong, seed } from "../seed.ts";

/** The options of a network. */
export interface NetworkOptions {
  /** Units that may be held at once. */
  readonly limit: number;
  /** Milliseconds for which a permit is held. */
  readonly ttl: number;
  /** Messages that arrive. */
  readonly steps: number;
  /** A whole number from which all that happens is drawn. */
  readonly seed: number;
  /** Where the permits are kept. */
  readonly send: SendPermitStep;
}

interface Holder {
  readonly id: number;
  readonly cost: number;
  /** Until when it holds the permit for sure, because it counts from before it sent a message. */
  heldUntil: number;
  nextAt: number;
  endsAt: number;
  dies: boolean;
}

interface Message {
  readonly act: PermitAct;
  readonly holder: Holder;
  readonly sentAt: number;
}

const ORIGIN = 1_790_000_000_000;

/**
 * Sends messages until that many have arrived. Fails at the first answer that differs from the
 * model's.
 */
export async function permitNetwork(options: NetworkOptions): Promise<void> {
  const { limit, ttl, steps, send } = options;
  const model = permitModel({ limit, ttl });
  const random = numbersFrom(options.seed);
  const below = (bound: number) => Math.floor(random() * bound);
  let arrived = 0;
  const most = limit + 3;
  let now = ORIGIN;
  let last = ORIGIN;
  let holders: Holder[] = [];
  /** The work that is due at each coming millisecond. */
  const due = new Map<number, (() => void | Promise<void>)[]>();

  /** Does something some time later, which is seldom long after. */
  function later(work: () => void | Promise<void>): void {
    const isLate = random() < 0.05;
    const at = now + 1 + below(isLate ? 3 * ttl : Math.ceil(ttl / 6));
    const others = due.get(at);
    if (others === undefined) due.set(at, [work]);
    else others.push(work);
  }

  function post(act: PermitAct, holder: Holder): void {
    const message = { act, holder, sentAt: now };
    const copies = random() < 0.08 ? 0 : random() < 0.1 ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) later(() => arrive(message));
  }

  async function arrive({ act, holder, sentAt }: Message): Promise<void> {
    const { id, cost } = holder;
    const step: PermitStep = { act, id, cost, passed: now - last };
    last = now;
    const wanted = model.act(act, now, id, cost);
    const decision = await send(step, now);
    const { remaining, retryAfter, resetAfter } = decision.parts?.[0] ?? decision;
    const seen = { allowed: decision.allowed, remaining, retryAfter, resetAfter };
    assert.deepEqual(seen, wanted, `${act} ${id} of ${cost} after ${now - ORIGIN} ms`);
    arrived++;
    if (act !== "release" && random() >= 0.05) later(() => hear(holder, wanted.allowed, sentAt));
  }

  /** A holder hears that it holds the permit, or that it does not. */
  function hear(holder: Holder, isHeld: boolean, sentAt: number): void {
    if (!holders.includes(holder)) return;
    if (isHeld) holder.heldUntil = Math.max(holder.heldUntil, sentAt + ttl);
    // A hold that was retried may have been refused before it was admitted.
    else if (holder.heldUntil > 0 || random() < 0.7) leave(holder);
  }

  function leave(holder: Holder): void {
    holders = holders.filter((other) => other !== holder);
    post("release", holder);
    if (random() < 0.3) post("release", holder);
  }

  function act(holder: Holder): void {
    if (now < holder.nextAt) return;
    holder.nextAt = now + Math.max(1, Math.floor(ttl / 3));
    if (now >= holder.endsAt) {
      if (!holder.dies) return leave(holder);
      holders = holders.filter((other) => other !== holder);
    } else if (holder.heldUntil === 0) post("hold", holder);
    else if (now >= holder.heldUntil) leave(holder);
    else post("renew", holder);
  }

  while (arrived < steps) {
    now++;
    if (holders.length < most && random() < most / ttl) {
      const holder: Holder = {
        id: 1 + below(2 ** 53 - 1),
        cost: random() < 0.7 ? 1 : 1 + below(limit + 1),
        heldUntil: 0,
        nextAt: now + Math.max(1, Math.floor(ttl / 3)),
        endsAt: now + below(6 * ttl),
        dies: random() < 0.2,
      };
      holders.push(holder);
      post("hold", holder);
    }
    for (const work of due.get(now) ?? []) await work();
    due.delete(now);
    for (const holder of holders) act(holder);
    const sure = holders.reduce(
      (sum, { heldUntil, cost }) => heldUntil > now ? sum + cost : sum,
      0,
    );
    assert.ok(sure <= limit, `${sure} of ${limit} in use after ${now - ORIGIN} ms`);
  }
  now += ttl;
  const { remaining } = await send({ act: "release", id: 1, cost: 1, passed: now - last }, now);
  assert.equal(remaining, limit, "what is free one ttl after the last message");
}

/** The options of several networks. */
export interface NetworksOptions {
  /** Keys of different limits and times, or 50 of them if the run may take long. */
  readonly keys: number;
  /** Messages of each key; default 2,000. */
  readonly perKey?: number;
  /** Makes the algorithm; `concurrency` without it. */
  make?(limit: number, ttl: number): Algorithm;
}

/** Sends messages for several keys, one after the other. */
export async function permitNetworks(
  sendTo: (algorithm: Algorithm) => SendPermitStep,
  { keys, perKey = 2_000, make = (limit, ttl) => concurrency({ limit, ttl }) }: NetworksOptions,
): Promise<void> {
  const { numRuns } = fcOptions({ numRuns: isLong() ? 50 : keys });
  for (let key = 0; key < numRuns; key++) {
    const limit = [3, 1, 8, 5, 2, 20, 0][key % 7]!;
    const ttl = [30, 10, 100, 1_000][key % 4]!;
    const send = sendTo(make(limit, ttl));
    await permitNetwork({ limit, ttl, steps: perKey, seed: seed() + key, send });
  }
}
