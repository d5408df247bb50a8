/*
 * How permits of an algorithm are asked for, and opened once the store has given them. `concurrency`
 * brings this along, so a bundle without it does not contain it.
 */

import type { Algorithm } from "../algorithm.ts";
import { type Clock, passingTime } from "../clock.ts";
import type { Decision } from "../decision.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Verb } from "../store.ts";
import { hold } from "../verbs/hold.ts";
import { type PermitArgument, type PermitVerb, requirePermits } from "../verbs/permit_steps.ts";
import { openPermit, permitTimes, releasePermit } from "./open_permit.ts";
import type { Permit } from "./permit.ts";
import { newPermitId } from "./permit_ids.ts";
import { renewalsOf } from "./renewals.ts";

/** The part of a limiter that permits need. */
export interface PermitHost {
  readonly algorithm: Algorithm;
  readonly clock: Clock | undefined;
  /** Milliseconds that may lie between the renewal of a permit and the answer to its holder. */
  readonly renewalLag: number;
  /** Runs a verb on one of the limiter's keys. */
  call<Argument, Answer>(
    verb: Verb<Argument, Answer>,
    key: string,
    argument: Argument,
  ): MaybePromise<Answer>;
}

/** A permit that is asked for: the verb's argument, and what becomes of the permit. */
export interface AskedPermit {
  readonly argument: PermitArgument;
  /** Opens the permit that the store has given: from now on it is renewed. */
  open(decision: Decision): Permit;
  /** Releases a permit that is not opened. It never fails. */
  release(): MaybePromise<boolean>;
}

/** The permits of a limiter. */
export interface PermitDesk {
  /** The verb that holds a permit. */
  readonly verb: PermitVerb;
  /** Makes the request for a permit, which the caller sends to the store at once. */
  ask(key: string, cost: number): AskedPermit;
}

/** Opens the permits of a limiter. */
export type OpenPermits = (host: PermitHost) => PermitDesk;

/** Opens the permits of a limiter. */
export function permitDesk(host: PermitHost): PermitDesk {
  const { algorithm, clock, renewalLag } = host;
  requirePermits("hold", algorithm);
  const times = permitTimes(algorithm, renewalLag);
  const renewals = renewalsOf(clock);
  const passing = passingTime(clock);
  return {
    verb: hold,
    ask(key, cost) {
      const id = newPermitId();
      const sentAt = passing();
      return {
        argument: { id, cost },
        open: (decision) => openPermit({ host, renewals, times, key, id, cost, sentAt, decision }),
        release: () => releasePermit(host, { key, id, cost }),
      };
    },
  };
}
