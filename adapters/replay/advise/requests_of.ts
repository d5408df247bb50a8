import { type ClientRequests, eachClient, subtrace, type Trace } from "../log/trace.ts";

/** The requests of the clients that are included: 1, else 0. */
export function requestsOf(
  trace: Trace,
  included: Uint8Array,
): ReadonlyMap<number, ClientRequests> {
  const found = new Map<number, ClientRequests>();
  eachClient(subtrace(trace, (client) => included[client] === 1), (client, requests) => {
    if (requests.at.length > 0) found.set(client, requests);
  });
  return found;
}
