/*
 * A queue of jobs for an API of somebody else that takes 20 calls a second. Jobs wait their turn,
 * first come, first served. A job that would wait for more than half a second is refused at once.
 *
 *   bun examples/job_queue.ts
 */
import { acquire, leakyQueue, limiter, RateLimitedError } from "tidegate";

const api = limiter(leakyQueue({ limit: 20, period: "1s", queue: 100 }));
const begun = performance.now();

async function job(number: number): Promise<string> {
  try {
    await acquire(api, "partner", { maxWait: 500 });
    // The call to the API goes here.
    return `job ${number} at ${Math.round((performance.now() - begun) / 50) * 50} ms`;
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    return `job ${number} refused: a place is free in ${error.decision.retryAfter} ms`;
  }
}

const jobs = Array.from({ length: 20 }, (_, index) => job(index + 1));
for (const line of await Promise.all(jobs)) console.log(line);
