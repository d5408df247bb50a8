/*
 * API keys with plans. Each plan has a limit, and each key has a plan. A key that changes its plan
 * keeps its use.
 *
 *   bun examples/api_plans.ts
 */
import { all, gcra, type Limiter, limiter, memoryStore, type SyncStore } from "tidegate";

/** The limits of the plans, which a real program keeps in a database. */
const PLANS = {
  free: { perSecond: 2, perDay: 5 },
  pro: { perSecond: 20, perDay: 1_000 },
} as const;

type Plan = keyof typeof PLANS;

/** A limiter for each plan, made once: keys are cheap, limiters are not. */
export function planLimiters(store: SyncStore): Readonly<Record<Plan, Limiter>> {
  const algorithmOf = ({ perSecond, perDay }: typeof PLANS[Plan]) =>
    all(
      gcra({ name: "second", limit: perSecond, period: "1s", burst: perSecond }),
      gcra({ name: "day", limit: perDay, period: "1d", burst: perDay }),
    );
  const free = algorithmOf(PLANS.free);
  return {
    free: limiter(free, { store, prefix: "api" }),
    pro: limiter(algorithmOf(PLANS.pro), {
      store,
      prefix: "api",
      // A key that comes from the free plan brings its use along.
      replaces: { algorithm: free, mode: "keep" },
    }),
  };
}

if (import.meta.main) {
  const limiters = planLimiters(memoryStore());
  const plans = new Map<string, Plan>([["key-1", "free"]]);
  const call = () => {
    const { allowed, retryAfter } = limiters[plans.get("key-1")!].consume("key-1");
    return allowed ? "ok" : `again in ${Math.ceil(retryAfter / 1_000)} s`;
  };
  console.log("free:", [call(), call(), call()].join(", "));
  plans.set("key-1", "pro");
  console.log("pro:", [call(), call(), call()].join(", "));
  const { parts } = limiters.pro.peek("key-1", 0);
  console.log("left today:", parts?.[1]?.remaining);
}
