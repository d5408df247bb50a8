/*
 * Reports every decision of a store to OpenTelemetry. It wraps the store and not the limiter, so
 * it also sees rules, middlewares and everything else that decides there.
 */

import * as api from "@opentelemetry/api";

import type { Algorithm } from "../../core/algorithm.ts";
import type { Decision } from "../../core/decision.ts";
import { firstPrinted, guarded } from "../../core/guarded.ts";
import { andThen, type MaybePromise, orElse } from "../../core/maybe_promise.ts";
import { checkOptions, checkStore } from "../../core/options/checks.ts";
import type { Store, Verb } from "../../core/store.ts";
import { wrapStore } from "../../core/wrap_store.ts";

/** The options of `openTelemetryStore`. */
export interface OpenTelemetryOptions {
  /** The tracer; default the global provider's. */
  readonly tracer?: api.Tracer | undefined;
  /** The meter; default the global provider's. */
  readonly meter?: api.Meter | undefined;
}

/** The part of a call on the store that is reported. */
interface Call {
  readonly algorithm: Algorithm;
  /** Units to take; a negative number gives units back. */
  readonly cost: number;
  readonly isLook: boolean;
}

/** A call under way. */
interface Started {
  readonly start: number;
  readonly span: api.Span | undefined;
}

/** The name of the tracer and of the meter. */
const NAME = "tidegate";

/**
 * Makes a store that behaves like another store, and reports each decision.
 *
 * The span `tidegate.decide` has the attributes `tidegate.policy` (the limit's name),
 * `tidegate.algorithm`, `tidegate.cost`, `tidegate.dry`, `tidegate.allowed`, `tidegate.remaining`
 * and `tidegate.limits`, the number of limits that are charged together. The span describes the
 * first limit that refuses. A failure has the name of its error as `error.type`, without the
 * message. The counter `tidegate.decisions` and the histogram `tidegate.decision.duration`
 * (seconds) have policy, algorithm and verdict. A tracer or meter that throws changes no decision.
 *
 * @param store The store. A store that threads share must be wrapped in each thread.
 * @throws {TypeError} If it is not a store, or an option is unknown.
 */
export function openTelemetryStore<Wrapped extends Store>(
  store: Wrapped,
  options: OpenTelemetryOptions = {},
): Wrapped {
  const action = "create openTelemetryStore";
  checkStore(action, "its store", store);
  checkOptions<OpenTelemetryOptions>(action, options, { tracer: true, meter: true });
  const { tracer = api.trace.getTracer(NAME), meter = api.metrics.getMeter(NAME) } = options;
  const decisions = meter.createCounter("tidegate.decisions", {
    description: "Decisions by limit.",
  });
  const duration = meter.createHistogram("tidegate.decision.duration", {
    description: "How long decisions took.",
    unit: "s",
  });

  function recordDuration({ start }: Started, labels: api.Attributes): void {
    duration.record((performance.now() - start) / 1_000, labels);
  }

  const print = firstPrinted();
  const begin = guarded(
    () => tracer.startSpan("tidegate.decide", { kind: api.SpanKind.INTERNAL }),
    print,
  );

  const report = guarded((calls: readonly Call[], all: readonly Decision[], at: Started) => {
    const index = Math.max(0, all.findIndex(({ allowed }) => !allowed));
    const { cost, isLook } = calls[index]!;
    const { allowed, remaining } = all[index]!;
    const labels = { ...labelsOf(calls[index]!), "tidegate.allowed": allowed };
    const own = { "tidegate.cost": cost, "tidegate.dry": isLook, "tidegate.remaining": remaining };
    endAfter(at.span, { ...labels, ...own, "tidegate.limits": calls.length }, () => {
      all.forEach(({ allowed }, index) =>
        decisions.add(1, { ...labelsOf(calls[index]!), "tidegate.allowed": allowed })
      );
      recordDuration(at, labels);
    });
  }, print);

  const reportError = guarded((calls: readonly Call[], error: unknown, at: Started) => {
    // The message may contain a key.
    const type = error instanceof Error ? error.name : typeof error;
    const labels = { ...labelsOf(calls[0]!), "error.type": type };
    at.span?.setStatus({ code: api.SpanStatusCode.ERROR });
    endAfter(at.span, labels, () => recordDuration(at, labels));
  }, print);

  /** Decides in a span of its own, and reports the answer. */
  function observed<Answers>(
    calls: readonly Call[],
    decide: () => MaybePromise<Answers>,
    decisionsOf: (answers: Answers) => readonly Decision[],
  ): MaybePromise<Answers> {
    if (calls.length === 0) return decide();
    const started = { start: performance.now(), span: begin() };
    const { span } = started;
    // The store's own work for the call, such as a command of a traced client, becomes a child
    // span.
    const run = () =>
      span === undefined
        ? decide()
        : api.context.with(api.trace.setSpan(api.context.active(), span), decide);
    const reported = (answers: Answers) => {
      report(calls, decisionsOf(answers), started);
      return answers;
    };
    return orElse(() => andThen(run(), reported), (error) => {
      reportError(calls, error, started);
      throw error;
    });
  }

  return wrapStore(store, {
    call({ family: { spec: { algorithm } }, verb, call }) {
      return (key, argument, now) => {
        const calls = [callOf(algorithm, verb, argument)];
        const decide = (): MaybePromise<unknown> => call(key, argument, now);
        return observed(calls, decide, (answer) => [verb.decisionOf(answer)]);
      };
    },
    run(operations, now) {
      const calls = operations.map(({ bound: { family, verb }, argument }) =>
        callOf(family.spec.algorithm, verb, argument)
      );
      return observed(
        calls,
        (): MaybePromise<readonly unknown[]> => store.run(operations, now),
        (answers) =>
          answers.map((answer, index) => operations[index]!.bound.verb.decisionOf(answer)),
      );
    },
  }) as Wrapped;
}

function callOf(algorithm: Algorithm, verb: Verb<unknown, unknown>, argument: unknown): Call {
  const units = verb.units(argument);
  return {
    algorithm,
    cost: verb.kind === "free" ? -units : units,
    isLook: verb.kind === "look",
  };
}

/** Measures, and ends the span even if the meter throws. */
function endAfter(
  span: api.Span | undefined,
  attributes: api.Attributes,
  measure: () => void,
): void {
  try {
    measure();
  } finally {
    span?.setAttributes(attributes);
    span?.end();
  }
}

/** The attributes of a limit, with only as many values as there are limits. */
function labelsOf({ algorithm: { name, id } }: Call): api.Attributes {
  return { "tidegate.policy": name, "tidegate.algorithm": id.split("/", 1)[0]! };
}
