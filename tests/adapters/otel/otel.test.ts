import assert from "node:assert/strict";
import { test } from "node:test";

import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

import { openTelemetryStore } from "../../../adapters/otel/otel.ts";
import { objectSource, ruleEngine } from "../../../adapters/rules/rules.ts";
import {
  consumeAll,
  fixedWindow,
  gcra,
  limiter,
  memoryStore,
  StoreUnavailableError,
} from "../../../mod.ts";
import type { SyncStore } from "../../../core/store.ts";
import { denyCache, lease } from "../../../stores/layered/layered.ts";
import { asyncMemoryStore } from "../../support/async_memory_store.ts";
import { printedBy } from "../../support/failing_callbacks.ts";
import { get, post, SHOP, withService } from "../service/support/running.ts";
import { interceptedStore } from "../../support/intercepted_store.ts";

const KEY = "user-of-a-secret-name";

/** An SDK that keeps what it is given. */
function sdk(...more: readonly SpanProcessor[]) {
  const spans = new InMemorySpanExporter();
  const tracing = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spans), ...more],
  });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
  const metering = new MeterProvider({ readers: [reader] });
  return {
    tracing,
    metering,
    tracer: tracing.getTracer("tests"),
    meter: metering.getMeter("tests"),
    spans: () => spans.getFinishedSpans(),
    /** The data points of a metric by their attributes: counts. */
    async points(name: string): Promise<readonly (readonly [labels: string, count: number])[]> {
      await reader.forceFlush();
      const all = exporter.getMetrics().at(-1)?.scopeMetrics.flatMap(({ metrics }) => metrics) ??
        [];
      const found = all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
      return found.map(({ attributes, value }) => [
        Object.values(attributes).join(" "),
        typeof value === "number" ? value : (value as { readonly count: number }).count,
      ]);
    },
    async end() {
      assert.ok(
        !JSON.stringify(
          spans.getFinishedSpans().map(({ name, attributes, status }) => [
            name,
            attributes,
            status,
          ]),
        ).includes(KEY),
      );
      assert.ok(!JSON.stringify(exporter.getMetrics()).includes(KEY));
      await tracing.shutdown();
      await metering.shutdown();
    },
  };
}

test("a decision has a span and metrics, on a store that answers at once or later, without its key", async () => {
  for (const inner of [memoryStore(), asyncMemoryStore()]) {
    const { tracer, meter, spans, points, end } = sdk();
    const store = openTelemetryStore(inner, { tracer, meter });
    const api = limiter(gcra({ limit: 2, period: "1h", burst: 2, name: "api" }), {
      store,
      prefix: "api",
    });
    for (const cost of [1, 1, 1]) await api.consume(KEY, cost);
    await api.peek(KEY, 0);
    const { debt } = await api.charge(KEY, 3);
    assert.equal(debt, 3);
    assert.deepEqual(
      spans().map(({ name, attributes }) => [name, ...Object.values(attributes)]),
      [[true, 1, false, 1], [true, 1, false, 0], [false, 1, false, 0], [true, 0, true, 0], [
        true,
        3,
        false,
        0,
      ]].map(([allowed, cost, dry, remaining]) => [
        "tidegate.decide",
        "api",
        "gcra",
        allowed,
        cost,
        dry,
        remaining,
        1,
      ]),
    );
    const counted = [["api gcra true", 4], ["api gcra false", 1]];
    assert.deepEqual(await points("tidegate.decisions"), counted);
    assert.deepEqual(await points("tidegate.decision.duration"), counted);
    await end();
  }
});

test("limits that are charged together have one span, of the one that refuses", async () => {
  const { tracer, meter, spans, points, end } = sdk();
  const store = openTelemetryStore(memoryStore(), { tracer, meter });
  const one = limiter(gcra({ limit: 9, period: "1h", burst: 9, name: "one" }), {
    store,
    prefix: "one",
  });
  const two = limiter(fixedWindow({ limit: 1, period: "1h", name: "two" }), {
    store,
    prefix: "two",
  });
  await two.consume(KEY);
  consumeAll([{ limiter: one, key: KEY }, { limiter: two, key: KEY }]);
  const { attributes } = spans()[1]!;
  assert.deepEqual(
    [attributes["tidegate.policy"], attributes["tidegate.allowed"], attributes["tidegate.limits"]],
    ["two", false, 2],
  );
  assert.deepEqual(await points("tidegate.decisions"), [
    ["two fixedWindow true", 1],
    ["one gcra true", 1],
    ["two fixedWindow false", 1],
  ]);
  await end();
});

test("a failure has its error's name, and reaches the caller as it is", async () => {
  const { tracer, meter, spans, points, end } = sdk();
  const message = `nothing is known of ${KEY}`;
  const failing = interceptedStore(memoryStore(), () => {
    throw new StoreUnavailableError(message, "no");
  });
  const store = openTelemetryStore(failing, { tracer, meter });
  const api = limiter(gcra({ limit: 2, period: "1h", burst: 2, name: "api" }), {
    store,
    prefix: "api",
  });
  assert.throws(() => api.consume(KEY), { message });
  const [span] = spans();
  assert.equal(span?.status.code, SpanStatusCode.ERROR);
  assert.equal(span?.attributes["error.type"], "StoreUnavailableError");
  assert.deepEqual(await points("tidegate.decision.duration"), [
    ["api gcra StoreUnavailableError", 1],
  ]);
  await end();
});

test("an SDK that throws changes no decision, and leaves no span open", async () => {
  const fail = () => {
    throw new Error("full");
  };
  const { tracer, spans, end } = sdk();
  const { tracer: failing } = sdk({
    onStart: () => {},
    onEnd: fail,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  });
  const meter = { createCounter: () => ({ add: fail }), createHistogram: () => ({ record: fail }) };
  const stores = [
    openTelemetryStore(memoryStore(), { tracer, meter: meter as never }),
    openTelemetryStore(memoryStore(), { tracer: failing, meter: meter as never }),
    openTelemetryStore(memoryStore(), { tracer: failing }),
    openTelemetryStore(memoryStore(), { tracer: { startSpan: fail } as never }),
  ];
  await printedBy(() => {
    for (const store of stores) {
      const { consume } = limiter(gcra({ limit: 1, period: "1h", burst: 1 }), {
        store,
        prefix: "api",
      });
      assert.deepEqual([consume(KEY).allowed, consume(KEY).allowed], [true, false]);
      assert.deepEqual(store.run([]), []);
    }
  });
  assert.deepEqual(spans().map(({ attributes }) => attributes["tidegate.allowed"]), [true, false]);
  await end();
});

test("stores over stores go on saving calls of the store below", () => {
  const lent = (store: SyncStore) => lease(store, { units: 50, ttl: 60_000 });
  for (const [over, limit, most] of [[denyCache, 100, 110], [lent, 1_000, 20]] as const) {
    let runs = 0;
    const below = interceptedStore(memoryStore(), (_calls, proceed) => {
      runs++;
      return proceed();
    });
    const store = openTelemetryStore(over(below));
    const api = limiter(gcra({ limit, period: "1d", burst: limit }), { store, prefix: "a" });
    for (let call = 0; call < 500; call++) api.consume("key");
    assert.ok(runs <= most, `${runs} runs`);
  }
});

test("its arguments must be a store and options", () => {
  assert.throws(
    () => openTelemetryStore(undefined as never),
    /^TypeError: Cannot create openTelemetryStore as its store must be a store, /,
  );
  assert.throws(
    () => openTelemetryStore(memoryStore(), { mter: metrics.getMeter("mine") } as object),
    /^TypeError: Cannot create openTelemetryStore because there is no option "mter": its options are .*meter/,
  );
});

test("rules and the service report to the SDK that is registered, and do without one", async () => {
  const rules = objectSource(SHOP);
  const asked = async () => {
    await withService(async (service) => {
      await post(service, "/v1/consume", { entries: { user: KEY } });
      assert.match((await get(service, "/metrics")).body, /^tidegate_store_keys 1$/m);
    }, { rules, openTelemetry: true });
  };
  await asked();
  const { tracing, metering, spans, points, end } = sdk();
  trace.setGlobalTracerProvider(tracing);
  metrics.setGlobalMeterProvider(metering);
  try {
    await asked();
    const engine = ruleEngine({ rules: SHOP, store: openTelemetryStore(memoryStore()) });
    await engine.consume({ domain: "shop", descriptors: [{ entries: [["user", KEY]] }] });
    assert.deepEqual(
      spans().map(({ attributes }) => attributes["tidegate.policy"]),
      ["3-in-3600s", "3-in-3600s"],
    );
    assert.deepEqual(await points("tidegate.decisions"), [["3-in-3600s gcra true", 2]]);
    await end();
  } finally {
    trace.disable();
    metrics.disable();
    context.disable();
  }
});
