/*
 * Random calls of the verbs of permits on keys of a store, each compared with the model: ids in a plain
 * list. Ids are few, so that most calls name a permit that was held before.
 */

import assert from "node:assert/strict";

import { type PermitAct, type PermitModel, permitModel } from "../../adapters/testing/testing.ts";
import type { StoreBase } from "../../core/store.ts";
import { hold } from "../../core/verbs/hold.ts";
import { release } from "../../core/verbs/release.ts";
import { renew } from "../../core/verbs/renew.ts";
import { concurrency, type Decision, type Store } from "../../mod.ts";

const LIMIT = 5;
const TTL = 20_000;
const KEYS = 20;
const IDS = 6;
/** The id of a release that only looks. */
const NOBODY = 1_000;
const ACTS: readonly PermitAct[] = ["hold", "hold", "hold", "renew", "release"];

/** Keys with permits in a store, and beside them their models. */
export function permitKeys(store: Store, name: string, random: () => number) {
  const algorithm = concurrency({ limit: LIMIT, ttl: TTL });
  const family = (store as StoreBase).open({ prefix: `${name} permits`, algorithm, older: [] });
  const verbs = {
    hold: family.bind(hold),
    renew: family.bind(renew),
    release: family.bind(release),
  };
  const models = new Map<string, PermitModel>();
  const whole = (below: number) => Math.floor(random() * below);

  async function check(act: PermitAct, key: string, id: number, cost: number, now: number) {
    let model = models.get(key);
    if (model === undefined) models.set(key, model = permitModel({ limit: LIMIT, ttl: TTL }));
    const expected = model.act(act, now, id, cost);
    const { allowed, remaining, retryAfter, resetAfter } = await verbs[act].call(
      key,
      { id, cost },
      now,
    );
    const text = `${act} of ${cost} by ${id} for ${key}, at ${now}`;
    assert.deepEqual({ allowed, remaining, retryAfter, resetAfter }, expected, text);
  }

  return {
    /** Some calls at an instant, on keys that differ. */
    calls(now: number): readonly (() => Promise<void>)[] {
      const calls: (() => Promise<void>)[] = [];
      for (let index = 0; index < KEYS; index++) {
        const [act, id, cost] = [ACTS[whole(ACTS.length)]!, 1 + whole(IDS), 1 + whole(3)];
        if (whole(4) > 0) continue;
        calls.push(() => check(act, `permits ${index}`, id, cost, now));
      }
      return calls;
    },
    /** Forgets the keys in use that a store answers for as for new ones, at once; how many. */
    forget(now: number): number {
      let lost = 0;
      for (const [key, model] of models) {
        const { resetAfter, remaining } = model.act("release", now, NOBODY, 0);
        const argument = { id: NOBODY, cost: 0 };
        const answer = verbs.release.call(key, argument, now) as Decision;
        if (resetAfter === answer.resetAfter && remaining === answer.remaining) continue;
        assert.equal(answer.resetAfter, 0, `${key} after an eviction`);
        models.delete(key);
        lost++;
      }
      return lost;
    },
  };
}
