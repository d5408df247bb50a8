import { type ClientRequests, eachClient, type Trace } from "../log/trace.ts";

/** The requests of the clients that are included: 1, else 0. */
export function requestsOf(
  trace: Trace,
  included: Uint8Array,
): ReadonlyMap<number, ClientRequests> {
  const found = new Map<number, ClientRequests>();
  if (included.includes(1)) {
    eachClient(trace, (client, requests) => found.set(client, requests), included);
  }
  return found;
}
