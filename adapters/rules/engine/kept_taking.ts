/*
 * A taking that keeps receipts of the units that it took. It is needed because charging all or none
 * of several counters is not always one call of the store, and because a request may get its units
 * back at the end.
 */

import { holdsPermits } from "../../../core/algorithms/holds_permits.ts";
import { newPermitId } from "../../../core/limiter/permit_ids.ts";
import { undoArgument } from "../../../core/limiter/undo.ts";
import type { Decision } from "../../../core/decision.ts";
import type { Operation } from "../../../core/store.ts";
import { hold } from "../../../core/verbs/hold.ts";
import { peek } from "../../../core/verbs/peek.ts";
import { release } from "../../../core/verbs/release.ts";
import { reserve, type Reserved, takeBackable } from "../../../core/verbs/reserve.ts";
import { giveBackReceipt, type SettleArgument } from "../../../core/verbs/settle.ts";
import type { CounterUnits, KeptTaking, Taking } from "./taking.ts";

/** A counter from which something was taken, and the store's answer. */
export interface TakenCounter extends CounterUnits {
  readonly answer: Decision | Reserved;
  /** Makes the argument that gives the units back; `undefined` if they cannot be given back. */
  readonly giveBack: (() => SettleArgument) | undefined;
}

/** A taking, and the units that it has taken and not given back, by the name of the counter. */
export interface RememberedTaking extends KeptTaking {
  readonly taken: ReadonlyMap<string, TakenCounter>;
}

/**
 * Makes a taking of permits and units that remembers what it took.
 *
 * @param id The id of the permits.
 * @param unitsOf The operation that takes a counter's units.
 */
export function keptTaking(
  id: number,
  onPermits: boolean,
  unitsOf: (counter: CounterUnits) => Operation,
): RememberedTaking {
  const taken = new Map<string, TakenCounter>();
  const nameOf = ({ family, key }: CounterUnits) => family.nameOf(key);

  const undo: Taking = {
    verb: undefined,
    onPermits: true,
    operation(counter) {
      const { family, key, units } = counter;
      const giveBack = taken.get(nameOf(counter))?.giveBack;
      taken.delete(nameOf(counter));
      if (holdsPermits(family.spec.algorithm)) {
        return { bound: family.bind(release), key, argument: { id, cost: units } };
      }
      if (giveBack === undefined) return lookAt(counter);
      return { bound: family.bind(giveBackReceipt), key, argument: giveBack() };
    },
    decisionOf: decisionIn,
  };

  const taking: RememberedTaking = {
    verb: undefined,
    onPermits,
    operation(counter) {
      const { family, key, units } = counter;
      // Without units there is no permit to hold.
      if (units === 0) return lookAt(counter);
      return holdsPermits(family.spec.algorithm)
        ? { bound: family.bind(hold), key, argument: { id, cost: units } }
        : unitsOf(counter);
    },
    decisionOf: decisionIn,
    took(counters, answers) {
      counters.forEach((counter, index) => {
        if (counter.units === 0) return;
        const answer = answers[index] as Decision | Reserved;
        taken.set(nameOf(counter), { ...counter, answer, giveBack: givingBack(counter, answer) });
      });
    },
    kept: () => taking,
    undo,
    taken,
  };
  return taking;
}

function givingBack(
  { key, units }: CounterUnits,
  answer: Decision | Reserved,
): TakenCounter["giveBack"] {
  if (!("decision" in answer) || answer.mark === undefined) return undefined;
  return undoArgument(key, units, answer.decision, answer.mark);
}

/** Takes the units of a counter, which this process may give back. */
export function backableUnits({ family, key, units }: CounterUnits): Operation {
  const argument = { cost: units, id: newPermitId() };
  return { bound: family.bind(takeBackable), key, argument };
}

/** Takes the units of a counter with a receipt. */
export function reservedUnits({ family, key, units }: CounterUnits): Operation {
  return { bound: family.bind(reserve), key, argument: { cost: units, id: newPermitId() } };
}

function lookAt({ family, key }: CounterUnits): Operation {
  return { bound: family.bind(peek), key, argument: 0 };
}

/** The decision in the answer of any verb here. Some answers contain more than the decision. */
function decisionIn(answer: unknown): Decision {
  const { decision } = answer as { readonly decision?: Decision };
  return decision ?? answer as Decision;
}
