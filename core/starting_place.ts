/*
 * The second half of waiting in a `leakyQueue`: the call is charged and has its place, and sleeps
 * out its delay. Who gives up now can give back the newest place only: if a place in the middle were
 * given back, the next call would be given the newest one, which is taken. One that is not the
 * newest stays, marked, until those behind it are gone.
 */

import type { Decision } from "./decision.ts";
import { type Line, type LineOwner, type Starter, stir, type Wish } from "./line.ts";
import { givingBackTheNewest } from "./projection.ts";

/** Gives an admitted call its place among those that wait for their start, if it has to. */
export function starterOf(
  line: Line,
  { delay }: Decision,
  freshAt: number,
  cost: number,
): Starter | undefined {
  if (delay === 0) return undefined;
  const starter = { freshAt, cost, gone: false };
  line.starting.push(starter);
  return starter;
}

/** Sleeps out the delay of an admitted call. */
export function waitOut(
  line: Line,
  { owner, key, signal }: Wish,
  starter: Starter,
  delay: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    function start(): void {
      signal?.removeEventListener("abort", abort);
      // Those before it have started or given up.
      line.starting.splice(0, line.starting.indexOf(starter) + 1);
      resolve();
    }
    function abort(): void {
      cancel();
      starter.gone = true;
      giveBackNewest(line, owner, key).finally(() => reject(signal!.reason));
    }
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    cancel = owner.after(delay, start);
  });
}

/** Gives back the places of those who have given up, from the newest on. */
async function giveBackNewest(line: Line, owner: LineOwner, key: string): Promise<void> {
  try {
    while (line.starting.at(-1)?.gone === true) {
      const { freshAt, cost } = line.starting.pop()!;
      await owner.run(key, givingBackTheNewest(owner.algorithm, freshAt), -cost);
    }
  } catch {
    // What could not be given back stays charged: the safe side.
  }
  stir(line);
}
