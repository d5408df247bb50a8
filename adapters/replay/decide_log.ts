import type { Decision } from "../../mod.ts";
import type { Candidate } from "./candidate.ts";
import type { LogEntry, LogReader } from "./log/log_entry.ts";

/** One client under one candidate. */
export interface Tally {
  state: unknown;
  denied: number;
  /** Since when it could not get in; `undefined` if its last request was admitted. */
  lockedSince: number | undefined;
  /** Until when: the instant that its last refusal named. */
  lockedUntil: number;
  lockOut: number;
}

/** A client: its tallies, one for each candidate. */
export interface Client {
  readonly key: string;
  requests: number;
  readonly tallies: readonly Tally[];
}

/** What a pass over the log has seen. */
export interface Pass {
  requests: number;
  units: number;
  untracked: number;
  backSteps: number;
  start: number;
  end: number;
  readonly clients: ReadonlyMap<string, Client>;
}

/** Steps every client's states through the log; `see` is called with each decision. */
export async function decideLog(
  read: LogReader,
  candidates: readonly Required<Candidate>[],
  maxClients: number,
  see: (entry: LogEntry, place: number, decision: Decision) => void,
): Promise<Pass> {
  const clients = new Map<string, Client>();
  const pass = { requests: 0, units: 0, untracked: 0, backSteps: 0, start: 0, end: 0, clients };
  await read((given) => {
    const { at: written, key, cost } = given;
    if (pass.requests === 0) pass.start = pass.end = written;
    if (written < pass.end) pass.backSteps++;
    const at = Math.max(written, pass.end);
    pass.end = at;
    pass.requests++;
    pass.units += cost;
    let client = clients.get(key);
    if (client === undefined) {
      if (clients.size === maxClients) {
        pass.untracked++;
        return;
      }
      client = newClient(key, candidates);
      clients.set(key, client);
    }
    client.requests++;
    const entry = at === written ? given : { at, key, cost };
    for (let place = 0; place < candidates.length; place++) {
      const tally = client.tallies[place]!;
      const [decision, state] = candidates[place]!.algorithm.step(tally.state, at, cost);
      tally.state = state;
      count(tally, at, decision);
      see(entry, place, decision);
    }
  });
  for (const { tallies } of clients.values()) {
    for (const tally of tallies) endLockOut(tally, tally.lockedUntil);
  }
  return pass;
}

function newClient(key: string, candidates: readonly Required<Candidate>[]): Client {
  return {
    key,
    requests: 0,
    tallies: candidates.map(({ algorithm }) => ({
      state: algorithm.initial,
      denied: 0,
      lockedSince: undefined,
      lockedUntil: 0,
      lockOut: 0,
    })),
  };
}

/** A client that stays away longer than it must is not locked out for all that time. */
function count(tally: Tally, at: number, { allowed, retryAfter }: Decision): void {
  if (allowed || at >= tally.lockedUntil) endLockOut(tally, at);
  if (allowed) return;
  tally.denied++;
  tally.lockedSince ??= at;
  tally.lockedUntil = at + retryAfter;
}

function endLockOut(tally: Tally, at: number): void {
  if (tally.lockedSince === undefined) return;
  const until = Math.min(at, tally.lockedUntil);
  tally.lockOut = Math.max(tally.lockOut, until - tally.lockedSince);
  tally.lockedSince = undefined;
}
