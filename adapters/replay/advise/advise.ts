/*
 * From a log to a limit: counts what clients need, sets aside those that no sane limit would admit,
 * and chooses a limit for the others.
 */

import { checkOptions, errorMessage, integerFrom } from "../../../core/application_support.ts";
import { clientDecider } from "../decide_client.ts";
import { LOGS_IN, WRITES } from "../log/request_fields.ts";
import {
  type LogSource,
  markedTrace,
  requestsOf,
  totalsOf,
  type Trace,
  traceOf,
} from "../log/trace.ts";
import type { Advice, HeavyClient, NeedBin, OddClient, PartAdvice } from "./advice.ts";
import {
  type AdvisedLimit,
  algorithmOf,
  chooseLimits,
  limitOf,
  refusedBy,
  roomsUpTo,
  roundUpFinely,
  shapesOf,
} from "./choose_limits.ts";
import { type ClientNeeds, clientNeeds } from "./client_needs.ts";
import { monitorsOf } from "./monitors.ts";
import { setAside } from "./set_aside.ts";

/** The options of `advise`. */
export interface AdviseOptions {
  /** The most clients to distinguish; default 100,000. */
  readonly maxClients?: number | undefined;
  /** Clients that are never set aside, such as your own. */
  readonly ordinary?: readonly string[] | undefined;
  /** How many times as much to admit as the busiest ordinary client needed, 1 to 10; default 2. */
  readonly headroom?: number | undefined;
}

const ACTION = "advise on a log";
const SHOWN = 10;
/** Fewer requests say nothing about a limit of their own. */
const MIN_REQUESTS = 20;
/** Tries to log in that anybody may need in a short time. */
const LOGINS = 3;
/** A second group is so far above the others, and at most this share of the clients. */
const GROUP_GAP = 2.5;
const GROUP_SHARE = 0.5;

/**
 * Advises on a limit for the clients of a log, without a rule to begin with.
 *
 * It counts how much each client needs within spans from ten seconds to an hour, and sets aside the
 * few clients that need many times as much as any other, or that keep up a pace that no person does.
 * Then it looks for the limit and burst, over the periods that people use, which admit twice what the
 * others needed. If the trace was read with `marks`, requests that write and those that log in get
 * advice of their own.
 *
 * A log shows neither who shares an address, nor one attacker behind many addresses, nor whether
 * refused clients come again. An attacker who needs less than 1.5 times as much as the busiest
 * ordinary client cannot be distinguished from an ordinary client.
 *
 * The log is read once. Memory is that of its trace and some 100 bytes a client; time is about that of
 * reading a quarter of the log.
 *
 * @param source The log: a trace, entries, or a function that opens them.
 * @param options As above.
 * @throws {TypeError} If an argument is of the wrong type.
 * @throws {RangeError} If an option is out of range, or the log holds no request.
 *
 * @example
 * ```ts
 * import { advise } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const calls = (key: string, count: number, every: number) =>
 *   Array.from({ length: count }, (_, call) => ({ at: call * every, key, cost: 1 }));
 * const people = Array.from({ length: 30 }, (_, person) => calls(`p${person}`, 9, 60_000)).flat();
 * const { parts: [advice] } = await advise([...people, ...calls("flood", 3_000, 200)]);
 * assert.deepEqual(advice?.odd.map(({ key }) => key), ["flood"]);
 * assert.deepEqual(advice?.refuses, 1);
 * ```
 */
export async function advise(source: LogSource, options: AdviseOptions = {}): Promise<Advice> {
  checkOptions<AdviseOptions>(ACTION, options, {
    maxClients: integerFrom(1),
    ordinary: true,
    headroom: true,
  });
  const { maxClients = 100_000, ordinary = [], headroom = 2 } = options;
  if (!(headroom >= 1 && headroom <= 10)) {
    throw new RangeError(errorMessage(ACTION, "headroom must be from 1 to 10", headroom));
  }
  const trace = await traceOf(ACTION, source, maxClients);
  const { clients, counts } = trace;
  const own = new Set(ordinary);
  const known = Uint8Array.from(clients, (key) => own.has(key) ? 1 : 0);
  const [writes, logins] = [markedTrace(trace, WRITES), markedTrace(trace, LOGS_IN)];
  const special = ([["writes", writes], ["logins", logins]] as const)
    .filter(([, { requests }]) => requests >= MIN_REQUESTS);
  const granted = logins.requests >= MIN_REQUESTS ? LOGINS : 0;
  const context = { grain: grainOf(trace), headroom, known, granted };
  const nobody = new Uint8Array(clients.length);
  const all = advisePart("all", trace, nobody, context);
  return {
    ...totalsOf(trace),
    clients: clients.length,
    grain: context.grain,
    busiest: counts.reduce((most, count) => Math.max(most, count), 0),
    ...{ writes: writes.requests, logins: logins.requests },
    parts: [
      all.advice,
      ...special.map(([part, own]) => advisePart(part, own, all.apart, context).advice),
    ],
  };
}

/** The data that the advice about each part of a log needs. */
interface Context {
  readonly grain: 1 | 1_000;
  readonly headroom: number;
  /** Clients that the caller says are ordinary: 1, else 0. */
  readonly known: Uint8Array;
  /** Units at once that every limit grants, because a request that logs in counts in all parts. */
  readonly granted: number;
}

/** Advises on some requests; also returns the clients that were set aside. */
function advisePart(
  part: PartAdvice["part"],
  trace: Trace,
  before: Uint8Array,
  { grain, headroom, known, granted }: Context,
): { readonly advice: PartAdvice; readonly apart: Uint8Array } {
  const q = grain === 1 ? 0 : grain;
  const least = part === "logins" ? LOGINS : 0;
  const needs = clientNeeds(trace, q);
  const monitors = monitorsOf(trace, needs);
  const mine = known.map((is, client) => is | monitors[client]!);
  const apart = setAside(needs, { ordinary: mine, apart: before, least });
  const ordinary = needs.units.map((units, client) => units > 0 && apart[client] === 0 ? 1 : 0);
  const admitted = { ordinary: Uint8Array.from(ordinary), refused: 0, least: granted };
  const count = sum(admitted.ordinary);
  const odd = requestsOf(trace, apart);
  const shapes = shapesOf(trace, needs, admitted, q);
  const chosen = chooseLimits(shapes, roomsUpTo(headroom), odd);
  const { limits, refused } = chosen;
  const [{ period }] = limits as [AdvisedLimit];
  const spared = Math.floor(count / 1_000);
  const spare = { ...admitted, refused: spared, least };
  const [tightShapes] = shapesOf(trace, needs, spare, q, [period]);
  const tight = limitOf(tightShapes!, 1, roundUpFinely);
  const view = { trace, needs, apart, ordinary: admitted.ordinary, period };
  return {
    apart,
    advice: {
      ...{ part, requests: trace.requests, ordinary: count, setAside: odd.size },
      odd: oddClients(view, refused),
      monitors: sum(monitors),
      ...{ limits, headroom: chosen.headroom, refuses: refused.size, tight },
      tightRefuses: refusedBy([tight], requestsOf(trace, admitted.ordinary)).size,
      secondGroup: secondGroupOf(view),
      heaviest: heaviest(view, limits, tight),
      needs: needBins(view),
    },
  };
}

/** The facts about the clients of a part. */
interface View {
  readonly trace: Trace;
  readonly needs: ClientNeeds;
  readonly apart: Uint8Array;
  readonly ordinary: Uint8Array;
  readonly period: number;
}

/** 1,000 if all times were written in whole seconds, else 1. */
function grainOf({ at, log }: Trace): 1 | 1_000 {
  // Such times are spread over their seconds when a log is read.
  if ((log?.resolution ?? 1) > 1) return 1_000;
  return at.every((instant) => instant % 1_000 === 0) ? 1_000 : 1;
}

function oddClients(view: View, refused: ReadonlySet<number>): readonly OddClient[] {
  const { trace: { clients, counts }, needs: { most, spans, steady }, apart, ordinary } = view;
  if (!apart.includes(1)) return [];
  const bounds = most.map((needs) =>
    needs.reduce((bound, need, client) => ordinary[client] === 1 ? Math.max(bound, need) : bound, 1)
  );
  const odd: OddClient[] = [];
  for (let client = 0; client < clients.length; client++) {
    if (apart[client] === 0 || counts[client] === 0) continue;
    const times = most.map((needs, span) => needs[client]! / bounds[span]!);
    const span = times.indexOf(Math.max(...times));
    odd.push({
      ...{ key: clients[client]!, requests: counts[client]!, most: most[span]![client]! },
      ...{ span: spans[span]!, times: times[span]! },
      ...{ isSteady: steady[client] === 1, isRefused: refused.has(client) },
    });
  }
  return odd.sort((one, other) => other.times - one.times).slice(0, SHOWN);
}

/** The clients that need most within the period, and what limits would have done to them. */
function heaviest(
  { trace, needs, apart, period }: View,
  limits: readonly AdvisedLimit[],
  tight: AdvisedLimit,
): readonly HeavyClient[] {
  const most = needs.most[needs.spans.indexOf(period)]!;
  const order = needs.units.reduce<number[]>((first, units, client) => {
    const last = first.at(-1);
    if (units === 0 || (first.length === SHOWN && most[last!]! >= most[client]!)) return first;
    return [...first, client].sort((one, other) => most[other]! - most[one]!).slice(0, SHOWN);
  }, []);
  const included = new Uint8Array(apart.length);
  for (const client of order) included[client] = 1;
  const requests = requestsOf(trace, included);
  const [roomy, close] = [limits, [tight]].map((each) => clientDecider(algorithmOf(each)));
  return order.map((client) => {
    const own = requests.get(client)!;
    return {
      ...{ key: trace.clients[client]!, requests: own.at.length, most: most[client]! },
      isSetAside: apart[client] === 1,
      refused: roomy!.refusals(own, Infinity),
      refusedByTight: close!.refusals(own, Infinity),
    };
  });
}

/** How many clients need how much, by doubling amounts. */
function needBins({ trace, needs, apart, period }: View): readonly NeedBin[] {
  const most = needs.most[needs.spans.indexOf(period)]!;
  const bins: { ordinary: number; setAside: number }[] = [];
  most.forEach((need, client) => {
    if (trace.counts[client] === 0) return;
    const index = Math.floor(Math.log2(Math.max(1, need)));
    while (bins.length <= index) bins.push({ ordinary: 0, setAside: 0 });
    bins[index]![apart[client] === 1 ? "setAside" : "ordinary"]++;
  });
  return bins.map((bin, index) => ({ from: 2 ** index, to: 2 ** (index + 1) - 1, ...bin }))
    .filter((_, index) => bins.slice(0, index + 1).some((bin) => bin.ordinary + bin.setAside > 0));
}

/** How many clients lie above a gap that is too far down for those above it to be set aside. */
function secondGroupOf({ needs, ordinary }: View): number {
  const groups = needs.most.map((all) => {
    const order = all.filter((_, client) => ordinary[client] === 1).sort().reverse();
    for (let rank = Math.floor(order.length * GROUP_SHARE); rank > 8; rank--) {
      if (order[rank - 1]! >= 10 && order[rank - 1]! >= GROUP_GAP * order[rank]!) return rank;
    }
    return 0;
  });
  return Math.max(0, ...groups);
}

function sum(flags: Uint8Array): number {
  return flags.reduce((count, flag) => count + flag, 0);
}
