/*
 * The request that a proxy asks about: it describes it in header fields, of one of two families.
 *
 *   from=nginx       X-Original-URI, X-Original-Method: what its configuration sets
 *   from=forwarded   X-Forwarded-Uri, X-Forwarded-Method: Traefik and Caddy
 *
 * A proxy passes on what its client sent of the other family. So only one is ever believed: that
 * which is named, or the only one that is there. Where both are there and none is named, nobody can
 * say whose word which is.
 */

import type { IncomingCall } from "./incoming_call.ts";
import { canonicalPath } from "./request_target.ts";

/** The method, in capitals, and the path of a request that a proxy asks about. */
export interface ForwardedRequest {
  readonly method: string;
  readonly path: string;
}

const FAMILIES = {
  nginx: { uri: "x-original-uri", method: "x-original-method" },
  forwarded: { uri: "x-forwarded-uri", method: "x-forwarded-method" },
} as const;

type Family = keyof typeof FAMILIES;

const NAMES = Object.keys(FAMILIES) as readonly Family[];

/**
 * The request that a proxy asks about, or why nobody can say which it is.
 *
 * @param from The family to believe; `null` if it is not named.
 */
export function forwardedRequest(
  { header, method }: IncomingCall,
  from: string | null,
): ForwardedRequest | string {
  if (from !== null && !NAMES.includes(from as Family)) {
    return `from must be one of ${NAMES.join(", ")}`;
  }
  const present = NAMES.filter((family) =>
    header(FAMILIES[family].uri) !== null || header(FAMILIES[family].method) !== null
  );
  if (from === null && present.length > 1) {
    return "both X-Original-* and X-Forwarded-* describe a request: name the one to use in the " +
      "query, /check?from=nginx or /check?from=forwarded";
  }
  const fields = FAMILIES[(from ?? present[0] ?? "nginx") as Family];
  const path = canonicalPath(header(fields.uri) ?? "/");
  if (path === undefined) return `${fields.uri} must be the path of a request`;
  return { method: (header(fields.method) ?? method).toUpperCase(), path };
}
