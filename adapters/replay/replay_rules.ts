/*
 * A replay of a whole rule file. Rules bind several keys of a request together, so that requests are
 * decided in order of time, by the engine that decides in service, on a clock of the log's times.
 *
 * The trace is the same; what counts as a client there is what a request asks the rules for.
 */

import { memoryStore } from "../../mod.ts";
import { addressKey } from "../http/http.ts";
import { type Descriptor, ruleEngine, type RuleSet, type Verdict } from "../rules/rules.ts";
import { candidateTally } from "./candidate_tally.ts";
import { addRefusal, emptyTally, endLockOut, type Tally } from "./decide_client.ts";
import { clientOfList } from "./log/client_of_list.ts";
import { clientColumns } from "./log/column_names.ts";
import { IPV6_PREFIX, networkOf } from "./log/layout.ts";
import type { LogRecord } from "./log/parse_block.ts";
import { type NamedLog, readTrace, type ReadTraceOptions } from "./log/read_log.ts";
import { pathOf, REQUEST_NAMES } from "./log/request_fields.ts";
import { eachRequest, totalsOf, type Trace } from "./log/trace.ts";
import type { CandidateReport, ReplayReport } from "./replay_report.ts";
import { addTo, emptyBins, type FilledBins } from "./time_bins.ts";

/** The question that a request puts to the rules. */
interface Asked {
  readonly client: string;
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
}

/** The outcome for one counter, or for one client. */
interface KeyTally extends Tally {
  requests: number;
  readonly timeline: FilledBins;
}

const MAX_SHOWN = 10;
const MAX_BINS = 240;

/**
 * Replays a log against rules: first all of them together, then each rule that refuses.
 *
 * A request's descriptors come from the routes of the rules, which read its method, path, address
 * and headers as far as the log has them. Without routes, each key of the first level that is
 * `address`, `method`, `path` or a column of the log gives an entry.
 *
 * @param logs The logs.
 * @param rules The rules, as `readRules` reads them.
 * @param name The name of all logs together in reports.
 * @param options How the logs are read; `key` and `cost` among them.
 */
export async function replayRules(
  logs: readonly NamedLog[],
  rules: RuleSet,
  name: string,
  options: ReadTraceOptions = {},
): Promise<ReplayReport> {
  const { key: named, columns, proxies = [] } = options;
  const bits = typeof named === "string" ? networkOf(named) : undefined;
  const column = bits === undefined && typeof named === "string" ? named : undefined;
  const ipv6Prefix = bits ?? IPV6_PREFIX;
  const { clientOf } = clientOfList(ipv6Prefix, proxies);

  /** A client's address, which stands in a column of its own if clients have names. */
  function addressOf({ host, fields }: LogRecord): string {
    if (column === undefined || addressKey(host) !== undefined) return host;
    const [usual = column] = clientColumns(Object.keys(fields), true);
    return clientOf(fields[usual] ?? "");
  }

  const trace = await readTrace(logs, {
    ...options,
    columns: column === undefined ? columns : { ...columns, host: column },
    // As without rules, a request that names no client is skipped.
    key: (record) =>
      record.host === ""
        ? ""
        : JSON.stringify(askedOf(record, rules, addressOf(record), ipv6Prefix)),
  });
  const [all, ...ofRules] = decideRules(trace, rules, name);
  return {
    ...{ ...totalsOf(trace), clients: all!.keys.size, backSteps: trace.backSteps },
    candidates: [all!, ...ofRules.filter(({ keys }) => keys.size > 0)].map(({ report }) =>
      report()
    ),
  };
}

/** Decides a log; returns the verdicts of all rules together, then those of each rule. */
function decideRules(trace: Trace, rules: RuleSet, name: string) {
  let now = 0;
  const store = memoryStore({ maxKeys: 1_000_000, perProcess: true });
  const engine = ruleEngine({ rules, store, clock: () => now });
  const asked = trace.clients.map((text) => JSON.parse(text) as readonly Asked[]);
  const all = ruleTally(name, name, trace);
  const ofRules = rules.rules.map(({ label, name = label, shadow, limits }) =>
    ruleTally(`${name}${shadow ? " (shadow)" : ""}`, limits.map(({ id }) => id).join("+"), trace)
  );
  eachRequest(trace, (client, at, cost) => {
    now = at;
    for (const { client: key, domain, descriptors } of asked[client]!) {
      // The memory store answers at once.
      const verdict = engine.consume({ domain, descriptors: priced(descriptors, cost) }) as Verdict;
      const { allowed, decision } = verdict;
      all.add(key, at, cost, allowed, decision?.retryAfter ?? Infinity);
      for (const { rule, key, cost, decision } of verdict.rules) {
        const { allowed, retryAfter } = decision ?? { allowed: true, retryAfter: 0 };
        ofRules[rule.index]!.add(key, at, cost, allowed, retryAfter);
      }
    }
  });
  return [all, ...ofRules];
}

/** The descriptors of a request that costs so much: a route's own cost counts for each unit. */
function priced(descriptors: readonly Descriptor[], units: number): readonly Descriptor[] {
  return units === 1
    ? descriptors
    : descriptors.map((each) => ({ ...each, cost: (each.cost ?? 1) * units }));
}

/** Adds up what a rule, or all of them together, did to each counter, or to each client. */
function ruleTally(name: string, id: string, trace: Trace) {
  const total = candidateTally({ name, id }, trace, MAX_BINS, MAX_SHOWN);
  const keys = new Map<string, KeyTally>();
  return {
    keys,
    add(key: string, at: number, cost: number, allowed: boolean, retryAfter: number): void {
      let own = keys.get(key);
      if (own === undefined) {
        // Few bins: there may be many keys.
        own = { ...emptyTally(), requests: 0, timeline: emptyBins(at, trace.end, 60) };
        keys.set(key, own);
      }
      own.requests++;
      addTo(own.timeline, at, cost, !allowed);
      addTo(total.timeline, at, cost, !allowed);
      if (allowed) endLockOut(own, at);
      else addRefusal(own, at, cost, retryAfter);
    },
    report(): CandidateReport {
      for (const [key, own] of keys) {
        endLockOut(own, Infinity);
        total.add(key, own.requests, own, () => own.timeline);
      }
      return total.report();
    },
  };
}

/** The questions of a line's request to the rules, domain by domain. */
function askedOf(
  { host, fields }: LogRecord,
  { domains, routes }: RuleSet,
  address: string,
  ipv6Prefix: number,
): readonly Asked[] {
  // Logs write names in any case of letters.
  const lower = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const first = (names: readonly string[]) =>
    names.map((name) => lower[name.toLowerCase()]).find((value) => value !== undefined);
  const path = pathOf(first(REQUEST_NAMES.path) ?? "");
  const method = (first(REQUEST_NAMES.method) ?? "").toUpperCase();
  const keyOf = (text: string) => addressKey(text, ipv6Prefix) ?? text;
  const known: Readonly<Record<string, string | undefined>> = {
    ...fields,
    address: keyOf(address),
    path,
    method,
  };
  const header = (name: string) => {
    const variable = name.replaceAll("-", "_");
    return first([name, `http_${variable}`, variable, ...(name === "user-agent" ? ["agent"] : [])]);
  };
  const byKeys = (keys: Iterable<string>) =>
    [...keys].flatMap((key): Descriptor[] => {
      const value = known[key];
      return value === undefined || value === "" ? [] : [{ entries: [[key, value]] }];
    });
  return [...domains].map(([domain, { level }]) => {
    const described = routes.get(domain);
    const descriptors = described === undefined
      ? byKeys(level.keys())
      : described({ method, path, address, ipv6Prefix, header }) ?? [];
    return { client: keyOf(host), domain, descriptors };
  }).filter(({ descriptors }) => descriptors.length > 0);
}
