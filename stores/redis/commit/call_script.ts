import type { Command } from "../clients/connection.ts";
import type { NodeConnection } from "../connections/node_connection.ts";
import { countedRoundTrip, hasReplies, type RoundTrip } from "../connections/round_trip.ts";
import { timeOf } from "../connections/server_clock.ts";
import type { StoreContext } from "../store_context.ts";

/**
 * Sends script calls in one write: EVALSHA, and again as EVAL with the script's text where the
 * server does not know it. The first two values of every reply are the server's time.
 *
 * @param text The script.
 * @param calls Calls of that script by EVALSHA.
 * @param asking Whether each needs an ASKING before it.
 */
export async function callScript(
  { connection }: NodeConnection,
  text: string,
  calls: readonly Command[],
  asking: boolean,
  context: StoreContext,
): Promise<RoundTrip> {
  const first = await send(calls);
  if (!hasReplies(first)) return first;
  const unknown = calls.filter((_, place) => isUnknownScript(first[place]));
  if (unknown.length === 0) return first;
  const second = await send(unknown.map(([, , ...rest]) => ["EVAL", text, ...rest]));
  if (!hasReplies(second)) return second;
  const again = [...second];
  return first.map((reply) => isUnknownScript(reply) ? again.shift() : reply);

  async function send(commands: readonly Command[]): Promise<RoundTrip> {
    const sent = performance.now();
    const written = asking ? commands.flatMap((command) => [["ASKING"], command]) : commands;
    const trip = await countedRoundTrip(connection, written, context);
    if (!hasReplies(trip)) return trip;
    const replies = asking ? trip.filter((_, place) => place % 2 === 1) : trip;
    const [reply] = replies;
    if (!(reply instanceof Error)) context.clock.sample(timeOf(reply), sent, performance.now());
    return replies;
  }
}

function isUnknownScript(reply: unknown): boolean {
  return reply instanceof Error && reply.message.startsWith("NOSCRIPT");
}
