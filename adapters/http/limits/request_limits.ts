/*
 * Limits for the gate: reads what a request takes from each limit, takes it, and gives the
 * units back when that is asked for.
 */

import { type Period, readLongestWait } from "../../../core/options/period.ts";
import { mergedTwins } from "../../../core/together/merged_twins.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import type { HeaderWriterOptions } from "../fields/header_writer.ts";
import type { Decider } from "../gate/decider.ts";
import type { MissingKey, UnknownAddress } from "./key_faults.ts";
import {
  limitCall,
  limitCallReader,
  type LimitsSource,
  type ReaderContext,
} from "./limit_call_reader.ts";
import { type GivenLimit, type GivenLimits, limitsOf } from "./limit_options.ts";
import { emptyPlan, nextPlan } from "./limit_plan.ts";
import { type LimitsAsked, NO_CALLS } from "./limits_asked.ts";
import { takeFromLimits } from "./take_from_limits.ts";

/** The options of a gate's limits. */
export type RequestLimitsOptions = GivenLimits & HeaderWriterOptions & {
  readonly refund?: unknown;
  readonly unknownAddress?: UnknownAddress;
  readonly missingKey?: MissingKey;
  readonly maxDelay?: Period | undefined;
};

/**
 * Makes the limits of a gate.
 *
 * @param notice Receives the error of an unknown address in shadow mode.
 * @throws {TypeError} If there is no limit, or one of the wrong type.
 * @throws {RangeError} If a policy cannot stand in header fields.
 */
export function requestLimits(
  action: string,
  options: RequestLimitsOptions,
  source: LimitsSource,
  notice: ReaderContext["notice"],
): Decider<LimitsAsked> {
  const { unknownAddress, missingKey, maxDelay: longest = Infinity } = options;
  const maxDelay = readLongestWait(action, "maxDelay", longest);
  const refunds = options.refund !== undefined;
  const next = nextPlan({ ...options, refunds });
  const empty = emptyPlan({ headers: false });
  const readers = sharingStore(limitsOf(action, options)).map((limit) =>
    limitCallReader(limit, { source, unknownAddress, missingKey, refunds, notice })
  );
  readers.reduce((plan, { fixed }) => fixed === undefined ? plan : next(plan, fixed), empty);

  const only = readers.length === 1 ? readers[0] : undefined;

  /** Reads the calls of a request on its limits, from one limit on. */
  function readFrom(first: number, asked: LimitsAsked): void | Promise<void> {
    for (let index = first; index < readers.length; index++) {
      if (asked.refusal !== undefined) return;
      const reading = readers[index]!.read(asked);
      if (reading !== undefined) return readLater(index, asked, reading);
    }
  }

  async function readLater(index: number, asked: LimitsAsked, reading: Promise<void>) {
    await reading;
    await readFrom(index + 1, asked);
  }

  /** A request whose calls are read; `undefined` if no limit applies to it. */
  function planned(asked: LimitsAsked): LimitsAsked | undefined {
    if (asked.refusal !== undefined) return asked;
    if (asked.calls.length > 1) {
      asked.calls = mergedTwins(asked.calls, limitCall)?.asks ?? asked.calls;
    }
    const { calls } = asked;
    if (calls.length === 0) return undefined;
    let plan = empty;
    for (let index = 0; index < calls.length; index++) plan = next(plan, calls[index]!.counter);
    asked.plan = plan;
    asked.delays = plan.delays;
    return asked;
  }

  async function plannedLater(asked: LimitsAsked, reading: Promise<void>) {
    await reading;
    return planned(asked);
  }

  return {
    ask(request, info, shadowed) {
      const asked: LimitsAsked = {
        request,
        info,
        shadowed,
        refusal: undefined,
        delays: false,
        plan: empty,
        calls: NO_CALLS,
      };
      // Most gates have one limit, and the loop costs a tenth of a decision.
      const reading = only === undefined ? readFrom(0, asked) : only.read(asked);
      return reading === undefined ? planned(asked) : plannedLater(asked, reading);
    },
    take: (asked) => takeFromLimits(asked, maxDelay),
  };
}

/** Several limits, of which those without a store share one. */
function sharingStore(limits: readonly GivenLimit[]): readonly GivenLimit[] {
  if (limits.length === 1) return limits;
  const store = memoryStore();
  return limits.map((limit, index) =>
    limit.limiter === undefined && limit.store === undefined
      ? { ...limit, store, prefix: `own ${index}` }
      : limit
  );
}
