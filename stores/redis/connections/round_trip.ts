import type { Command, Connection } from "../clients/connection.ts";
import type { BatchFailure } from "../failures/batch_failure.ts";

/** The replies to commands sent in one write, or why there are none. */
export type RoundTrip = readonly unknown[] | BatchFailure;

/** Whether a round trip came back. */
export function hasReplies(trip: RoundTrip): trip is readonly unknown[] {
  return Array.isArray(trip);
}

/**
 * Sends commands in one write and waits for all replies, at most so many milliseconds.
 *
 * The timer is ours, as no timeout of node-redis covers a command that was sent. A process that is
 * held up must not take itself for a dead server: node-redis writes in the next turn of the event
 * loop, so the timer starts after that; and a due timer lets the loop turn over twice more, in which
 * it reads what the server replied in time.
 *
 * A late reply reaches nobody: whoever gets `silent` destroys the connection.
 */
export function roundTrip(
  connection: Connection,
  commands: readonly Command[],
  deadline: number,
): Promise<RoundTrip> {
  return new Promise((resolve) => {
    let settled = false;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function startTimer(): void {
      if (settled) return;
      timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), deadline);
    }

    function settle(trip: RoundTrip): void {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      resolve(trip);
    }

    function giveUp(): void {
      settle({ kind: "silent", error: new Error(`No reply within ${deadline} ms`) });
    }

    connection.send(commands).then(settle, (error) => settle({ kind: "lost", error }));
    setImmediate(startTimer);
  });
}
