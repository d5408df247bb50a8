/*
 * A budget of tokens for a language model: 10,000 a minute for each team. The cost of an answer is not
 * known beforehand. So the program first reserves the prompt, and later settles the real cost.
 * A user who goes beyond the budget is in debt, and waits until the debt has drained.
 *
 *   bun examples/llm_tokens.ts
 */
import { limiter, reservable, reserve, settle, tokenBucket } from "tidegate";

let now = 0; // a clock of the example's own; leave it out, and it is the time of day
const budget = tokenBucket({ limit: 10_000, period: "1m", burst: 10_000 });
const tokens = limiter(reservable(budget, { within: "5m" }), { clock: () => now });

/** A fake model. Nobody knows the length of its answers beforehand. */
const model = (prompt: string) => Promise.resolve({ text: "...", tokens: prompt.length * 20 });

async function ask(team: string, prompt: string): Promise<string> {
  const estimate = Math.ceil(prompt.length / 4);
  const { decision: { retryAfter }, receipt } = reserve(tokens, team, estimate);
  if (receipt === undefined) return `again in ${Math.ceil(retryAfter / 1_000)} s`;
  let used = 0; // as long as there is no answer
  try {
    used = estimate + (await model(prompt)).tokens;
  } finally {
    settle(tokens, team, receipt, used);
  }
  const { remaining, debt } = tokens.peek(team, 0);
  return debt > 0 ? `answered, ${debt} tokens in debt` : `answered, ${remaining} tokens left`;
}

console.log("ada:", await ask("ada", "x".repeat(400)));
console.log("ada:", await ask("ada", "x".repeat(200)));
console.log("ada:", await ask("ada", "x".repeat(4)));
now = 60_000;
console.log("ada, a minute later:", await ask("ada", "x".repeat(4)));
