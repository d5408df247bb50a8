import type { Command, Connection } from "./connection.ts";
import type { Trouble } from "./trouble.ts";

/** The replies to commands sent in one write, or why there are none. */
export type RoundTrip = readonly unknown[] | Trouble;

/** Whether a round trip came back. */
export function cameBack(trip: RoundTrip): trip is readonly unknown[] {
  return Array.isArray(trip);
}

/**
 * Sends commands in one write and waits for all replies, at most so many milliseconds.
 *
 * The timer is ours, as no timeout of node-redis covers a command that was sent. A process that was
 * held up finds its timers due before it has read what the server replied in time; so a due timer
 * lets the event loop turn over twice more before it counts.
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
    const timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), deadline);

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
  });
}
