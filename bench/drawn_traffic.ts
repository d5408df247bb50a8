/*
 * Traffic of which it is known who is who: people, offices, probes, crawlers and attackers, drawn at
 * random. Sites differ as sites do: in how many people come, how many files a page has, how often
 * somebody logs in, how long the log is, and how exact its times are.
 */

import type { Trace } from "../adapters/replay/replay.ts";

/** The kind of a client. */
export type Role =
  | "person"
  | "office"
  | "probe"
  | "crawler"
  | "flood"
  | "bursts"
  | "scan"
  | "stuffing"
  | "distributed";

/** The five kinds of attackers. */
export const ATTACKS = ["flood", "bursts", "scan", "stuffing", "distributed"] as const;

/** A log, and who its clients are. */
export interface DrawnLog {
  readonly trace: Trace;
  /** Each client's role, in the order of the trace. */
  readonly roles: readonly Role[];
  /** The number of attackers. A distributed attack counts as one. */
  readonly attackers: number;
}

/** A request: when, and its mark as a trace has it. */
interface Request {
  readonly at: number;
  readonly mark: number;
}

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const START = Date.UTC(2026, 2, 2);

/** The mark of a request to log in, which is also a write; other paths have marks from 8 to 252. */
const LOGIN = 7;

/** Draws a log; the same seed draws the same one. */
export function drawnLog(seed: number, attackers?: number): DrawnLog {
  const draw = drawing(seed);
  const site = drawnSite(draw);
  const roles: Role[] = [];
  const requests: Request[][] = [];
  function add(role: Role, made: Request[]): void {
    const inside = made.filter(({ at }) => at >= 0 && at < site.length);
    if (inside.length === 0) return;
    roles.push(role);
    requests.push(inside);
  }
  for (let person = 0; person < site.people; person++) add("person", personOf(site, draw));
  for (let office = draw.upTo(5); office > 0; office--) add("office", officeOf(site, draw));
  for (let probe = draw.upTo(3); probe > 0; probe--) add("probe", probeOf(site, draw));
  for (let crawler = draw.upTo(3); crawler > 0; crawler--) add("crawler", crawlerOf(site, draw));
  const count = attackers ?? draw.upTo(6);
  for (let attacker = 0; attacker < count; attacker++) {
    const kind = draw.of(ATTACKS);
    for (const made of ATTACK[kind](site, draw)) add(kind, made);
  }
  return { trace: traceOf(requests, site.grain), roles, attackers: count };
}

type Site = ReturnType<typeof drawnSite>;
type Draw = ReturnType<typeof drawing>;

function drawnSite(draw: Draw) {
  return {
    people: Math.round(draw.logNormal(300, 0.8)),
    length: draw.between(1, 3) ** 2 * HOUR,
    /** Requests of a page: an API has one, a shop dozens. */
    files: draw.chance(0.3) ? 1 : Math.round(draw.between(2, 12)),
    pages: draw.between(2, 10),
    think: draw.between(3, 40) * SECOND,
    login: draw.between(0, 0.5),
    grain: draw.chance(0.6) ? SECOND : 1,
    /** How much more some people do than others. */
    spread: draw.between(0.2, 0.7),
  };
}

/** One or several visits; a page with its files, a pause, another page. */
function personOf(site: Site, draw: Draw, factor = draw.logNormal(1, site.spread)): Request[] {
  const made: Request[] = [];
  const visits = 1 + draw.geometric(0.4 * factor * Math.sqrt(site.length / HOUR));
  for (let visit = 0; visit < visits; visit++) {
    let at = draw.between(0, site.length);
    if (draw.chance(site.login)) {
      for (let tries = 1 + draw.geometric(0.2); tries > 0; tries--) {
        made.push({ at, mark: LOGIN });
        at += draw.between(3, 15) * SECOND;
      }
    }
    for (let page = draw.geometric(site.pages * factor) + 1; page > 0; page--) {
      const files = Math.max(1, draw.geometric(site.files));
      made.push({ at, mark: draw.path() });
      for (let file = 1; file < files; file++) {
        made.push({ at: at + 100 + draw.between(0, 2_500), mark: draw.path() });
      }
      // Nobody reads ten pages a minute for long.
      at += 3 * SECOND + draw.logNormal(site.think / Math.min(2, Math.max(0.5, factor)), 0.8);
    }
  }
  return made;
}

/** Several people behind one address. */
function officeOf(site: Site, draw: Draw): Request[] {
  const people = Math.round(draw.logNormal(8, 0.7));
  return Array.from({ length: people }, () => personOf(site, draw)).flat();
}

/** A monitor that asks all day long, at equal distances. */
function probeOf({ length }: Site, draw: Draw): Request[] {
  const every = draw.of([5, 10, 15, 30, 60, 60, 300]) * SECOND;
  const paths = draw.paths(draw.chance(0.7) ? 1 : 3);
  const pause = () => every + draw.between(-50, 50);
  return steadily(draw.between(0, every), length, pause, paths);
}

/** A search engine: for an hour or the whole day, at some pace. */
function crawlerOf({ length }: Site, draw: Draw): Request[] {
  const pace = draw.logNormal(8 * SECOND, 0.9);
  const from = draw.between(0, length / 2);
  return steadily(from, draw.between(from, length), () => draw.exponential(pace), draw.path);
}

const ATTACK: Readonly<Record<typeof ATTACKS[number], (site: Site, draw: Draw) => Request[][]>> = {
  flood({ length }, draw) {
    const rate = draw.logNormal(15, 1.1);
    const from = draw.between(0, length * 0.8);
    const to = from + draw.logNormal(6 * MINUTE, 1);
    return [steadily(from, to, () => draw.exponential(SECOND / rate), draw.target())];
  },
  bursts({ length }, draw) {
    const size = draw.logNormal(120, 0.9);
    const every = draw.logNormal(4 * MINUTE, 0.7);
    const from = draw.between(0, length / 2);
    const target = draw.target();
    const made: Request[] = [];
    for (let at = from; at < length && made.length < 200_000; at += every) {
      for (let one = 0; one < size; one++) {
        made.push({ at: at + draw.between(0, 3_000), mark: target() });
      }
    }
    return [made];
  },
  scan({ length }, draw) {
    const pace = draw.logNormal(2 * SECOND, 0.9);
    const from = draw.between(0, length / 2);
    const to = from + draw.between(0.5, 1) * length;
    // A third of the tools pause for a fixed time.
    const pause = draw.chance(0.3)
      ? () => pace + draw.between(0, 100)
      : () => draw.between(0.7, 1.3) * pace;
    return [steadily(from, to, pause, draw.path)];
  },
  stuffing({ length }, draw) {
    const pace = draw.logNormal(2.5 * SECOND, 0.8);
    const from = draw.between(0, length * 0.7);
    const to = from + draw.logNormal(40 * MINUTE, 0.8);
    return [steadily(from, to, () => draw.exponential(pace), () => LOGIN)];
  },
  distributed(site, draw) {
    const many = Math.round(draw.logNormal(60, 0.8));
    const pace = draw.logNormal(20 * SECOND, 0.7);
    return Array.from({ length: many }, () => {
      const from = draw.between(0, site.length * 0.8);
      return steadily(from, from + 10 * MINUTE, () => draw.exponential(pace), draw.path);
    });
  },
};

/** Requests from one instant to another; at most 200,000. */
function steadily(from: number, to: number, pause: () => number, mark: () => number): Request[] {
  const made: Request[] = [];
  for (let at = from; at < to && made.length < 200_000; at += pause()) {
    made.push({ at, mark: mark() });
  }
  return made;
}

/** The trace that a log of these requests has. */
function traceOf(requests: readonly Request[][], grain: number): Trace {
  const rows = requests.flatMap((made) =>
    made.map(({ at, mark }) => ({ at: START + Math.floor(at / grain) * grain, mark }))
      .sort((one, other) => one.at - other.at)
  );
  const at = Float64Array.from(rows, ({ at }) => at);
  return {
    ...{ requests: rows.length, units: rows.length, untracked: 0, backSteps: 0, log: undefined },
    ...{ start: at.toSorted()[0] ?? START, end: at.toSorted().at(-1) ?? START },
    clients: requests.map((_, client) => `client-${client}`),
    counts: requests.map(({ length }) => length),
    ...{ at, cost: undefined },
    marks: Uint8Array.from(rows, ({ mark }) => mark),
    order: Uint32Array.from(at.keys()),
  };
}

/** Random numbers of several distributions, the same for the same seed. */
function drawing(seed: number) {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 0;
  // Source: T. Ettinger, mulberry32.
  function random(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  /** One of 62 paths. */
  const path = () => 8 + 4 * Math.floor(random() * 62);
  function paths(count: number): () => number {
    const few = Array.from({ length: count }, path);
    return () => few[Math.floor(random() * count)]!;
  }
  return {
    path,
    paths,
    /** The paths that a flood asks for: one page, or any. */
    target: () => random() < 0.5 ? paths(1) : path,
    between: (least: number, most: number) => least + random() * (most - least),
    chance: (share: number) => random() < share,
    upTo: (count: number) => Math.floor(random() * count),
    of: <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!,
    exponential: (mean: number) => -Math.log(1 - random()) * mean,
    logNormal: (median: number, spread: number) => median * Math.exp(spread * normal()),
    /** Whole numbers from 0, of this mean. */
    geometric: (mean: number) => Math.floor(Math.log(1 - random()) / Math.log(mean / (1 + mean))),
  };
}
