import type { LogEntry } from "../../../../adapters/replay/replay.ts";
import type { Algorithm } from "../../../../mod.ts";

/** The totals of one algorithm, counted naively. */
export interface Count {
  denied: number;
  deniedUnits: number;
  delay: number;
  readonly byClient: Map<string, number>;
}

/** The plain way: each request of the ordered log steps its client's state. */
export function recount(log: readonly LogEntry[], algorithm: Algorithm): Count {
  const count: Count = { denied: 0, deniedUnits: 0, delay: 0, byClient: new Map() };
  const states = new Map<string, unknown>();
  for (const { at, key, cost } of log) {
    const [decision, state] = algorithm.step(states.get(key) ?? algorithm.initial, at, cost);
    states.set(key, state);
    count.delay += decision.delay;
    if (decision.allowed) continue;
    count.denied++;
    count.deniedUnits += cost;
    count.byClient.set(key, (count.byClient.get(key) ?? 0) + 1);
  }
  return count;
}
