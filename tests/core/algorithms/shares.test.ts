/*
 * Shares of `concurrency` against a model: holders in a map, and messages that are lost, late and doubled,
 * because each is drawn from all that a holder has sent.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import type { Algorithm, ShareMessage } from "../../../core/algorithm.ts";
import { hold } from "../../../core/verbs/hold.ts";
import { share } from "../../../core/verbs/share.ts";
import { concurrency } from "../../../mod.ts";
import { fcOptions, isLong } from "../../support/seed.ts";

const ORIGIN = 1_790_000_000_000;
const TTL = 20;

interface Step {
  readonly holder: number;
  /** The message: the next one of its holder, or one that it has sent before, so many messages back. */
  readonly back: number;
  readonly units: number;
  /** Messages of its holder that were lost before. */
  readonly lost: number;
  readonly passed: number;
}

/** A message that is late by as many others counts as a new one; one that is new by more, as late. */
const TOO_LATE = 2 ** 31 - 1;

interface Entry {
  units: number;
  number: number;
  expires: number;
}

/** The outcome of a share, from the definition. The entries are those that have not expired. */
function model(entries: Map<number, Entry>, limit: number, now: number, message: ShareMessage) {
  for (const [id, { expires }] of entries) if (expires <= now) entries.delete(id);
  const own = entries.get(message.id);
  const isLate = own === undefined ? message.number > 1 : message.number <= own.number;
  if (!isLate) {
    let others = 0;
    for (const [id, { units }] of entries) if (id !== message.id) others += units;
    const units = Math.min(message.units, limit - others);
    entries.delete(message.id);
    const expires = Math.max(own?.expires ?? 0, now + TTL);
    if (units > 0) entries.set(message.id, { units, number: message.number, expires });
  }
  const kept = entries.get(message.id)?.units;
  return kept ?? (own === undefined && message.number > 1 ? undefined : 0);
}

/** Sends messages to a reducer, whose state goes through its words and its text each time. */
function sendTo(algorithm: Algorithm) {
  const { codec, initial } = algorithm;
  const words = new Float64Array(codec.maxWords + 1);
  const { next: nextOf, answer } = share.on(algorithm);
  let state = initial;
  return {
    send(message: ShareMessage, now: number) {
      const argument = { ...message, least: 0 };
      const next = nextOf(state, now, argument);
      const answered = answer(state, next, now, argument);
      const text = codec.encode(next);
      assert.equal(codec.encode(codec.read(words, 1, codec.write(next, words, 1))), text);
      state = codec.decode(text);
      assert.equal(codec.encode(state), text);
      assert.equal(state === initial, next === initial);
      return answered;
    },
  };
}

test("each share is that of a model, whichever messages come", () => {
  const step = fc.record<Step>({
    holder: fc.integer({ min: 1, max: 5 }),
    back: fc.oneof(fc.constant(0), fc.nat(4)),
    units: fc.oneof(fc.nat(12), fc.constant(100_000)),
    // Six of them bring a holder to where the numbers in a state come again.
    lost: fc.constantFrom(0, 0, 0, 2 ** 29, TOO_LATE - 1),
    passed: fc.oneof(fc.constant(0), fc.nat(4), fc.constant(TTL), fc.nat(2 * TTL)),
  });
  const limits = fc.constantFrom(0, 1, 3, 10, 1_000, 200_000, 1_000_000);
  const steps = fc.array(step, { minLength: 1, maxLength: isLong() ? 500 : 60 });
  fc.assert(
    fc.property(limits, steps, (limit, steps) => {
      const { send } = sendTo(concurrency({ limit, ttl: TTL }));
      const entries = new Map<number, Entry>();
      const sent = new Map<number, ShareMessage[]>();
      let now = ORIGIN;
      for (const { holder, back, units, lost, passed } of steps) {
        now += passed;
        const messages = sent.get(holder) ?? [];
        sent.set(holder, messages);
        const last = messages.at(-1)?.number ?? 0;
        const number = last === 0 ? 1 : last + 1 + lost;
        if (back === 0) messages.push({ id: holder, number, units });
        const message = messages.at(-1 - Math.max(0, back - 1));
        if (message === undefined || messages.at(-1)!.number - message.number >= TOO_LATE) continue;
        // The share may have begun anew with an old message: then the next one is too far from it.
        if (message.number - (entries.get(holder)?.number ?? Infinity) > TOO_LATE) continue;
        const wanted = model(entries, limit, now, message);
        const { decision, units: kept } = send(message, now);
        const held = [...entries.values()].reduce((sum, { units }) => sum + units, 0);
        assert.deepEqual([kept, decision.remaining], [wanted, limit - held]);
      }
    }),
    // In a long run a million messages.
    fcOptions({ numRuns: isLong() ? 4_000 : 100 }),
  );
});

test("a message that comes late, or twice, changes nothing", () => {
  const { send } = sendTo(concurrency({ limit: 10, ttl: TTL }));
  const kept = (number: number, units: number, passed: number) =>
    send({ id: 1, number, units }, ORIGIN + passed).units;
  assert.deepEqual([kept(1, 5, 0), kept(2, 3, 0)], [5, 3]);
  assert.deepEqual([kept(1, 5, 1), kept(2, 3, 5)], [3, 3]);
  // The share has not been renewed since.
  assert.equal(send({ id: 2, number: 1, units: 0 }, ORIGIN + TTL - 1).decision.remaining, 7);
  assert.equal(send({ id: 2, number: 1, units: 0 }, ORIGIN + TTL).decision.remaining, 10);
});

test("a share goes on after 2^32 messages, and cannot begin with one of these", () => {
  const algorithm = concurrency({ limit: 10, ttl: TTL });
  const { send } = sendTo(algorithm);
  const kept = (number: number, units: number) => send({ id: 1, number, units }, ORIGIN).units;
  assert.equal(kept(1, 5), 5);
  // A message is new if it is at most 2^31 - 1 after the last one.
  for (const number of [2 ** 30, 2 ** 31, 3 * 2 ** 30, 2 ** 32 - 1]) {
    assert.equal(kept(number, 3), 3);
  }
  for (let number = 2 ** 32; number < 2 ** 32 + 3; number++) {
    assert.equal(kept(number, number % 7), number % 7);
    assert.equal(kept(number - 1, 9), number % 7, "late");
    assert.equal(kept(number, 9), number % 7, "doubled");
    assert.equal(kept(1, 9), number % 7, "the first one, doubled");
  }
  // It stands there as 2, because 1 would begin a share that is gone.
  const gone = send({ id: 2, number: 2 ** 32, units: 1 }, ORIGIN);
  assert.deepEqual([gone.units, gone.decision.remaining], [undefined, 10 - (2 ** 32 + 2) % 7]);
});

test("shares and single permits are held beside each other", () => {
  const algorithm = concurrency({ limit: 10, ttl: TTL });
  const single = hold.on(algorithm);
  const shares = share.on(algorithm);
  const held = single.next(algorithm.initial, ORIGIN, { id: 1, cost: 4 });
  const message = { id: 2, number: 1, units: 50, least: 6 };
  const both = shares.next(held, ORIGIN + 5, message);
  assert.deepEqual(shares.answer(held, both, ORIGIN + 5, message).units, 6);
  assert.equal(single.next(both, ORIGIN + 6, { id: 3, cost: 1 }), both);
  assert.equal(algorithm.codec.encode(both), `p1 1@${ORIGIN + 20}*4 2@${ORIGIN + 25}*6#1`);
});

test("a key has at most 341 shares, whatever its limit", () => {
  const algorithm = concurrency({ limit: 1_000_000, ttl: TTL });
  const { next, answer } = share.on(algorithm);
  let state = algorithm.initial;
  for (let id = 1; id <= 341; id++) {
    state = next(state, ORIGIN, { id, number: 1, units: 1, least: 1 });
  }
  // One that is there may change all the same.
  const larger = { id: 1, number: 2, units: 5, least: 5 };
  assert.equal(answer(state, next(state, ORIGIN, larger), ORIGIN, larger).units, 5);
  const { codec } = algorithm;
  const text = codec.encode(state);
  assert.equal(codec.encode(codec.decode(text)), text);
  assert.equal(codec.decode(`${text} ${(342).toString(36)}@${ORIGIN + TTL}#1`), undefined);
  const message = { id: 342, number: 1, units: 1, least: 1 };
  assert.equal(next(state, ORIGIN, message), state);
  assert.equal(answer(state, state, ORIGIN, message).units, 0);
  assert.notEqual(next(state, ORIGIN + TTL, message), state);
});

test("a permit of a limit above 1,000 has no entry of its own in a state", () => {
  assert.throws(() => hold.on(concurrency({ limit: 1_001, ttl: TTL })), {
    name: "RangeError",
    message: /lease\(store, { units, ttl }\): current value is 1001/,
  });
  hold.on(concurrency({ limit: 1_000, ttl: TTL }));
});
