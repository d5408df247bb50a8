import type { KeyLimitsOptions } from "../../rules/rules.ts";
import type { RequestLimits } from "./request_bounds.ts";

/** How calls are served; the same on every thread. */
export interface CallSettings {
  /** What calls must bring to change anything or to see a key; without it all of them may. */
  readonly token: string | undefined;
  /** The most bytes of a body. */
  readonly maxBody: number;
  /** The most connections of a thread at once. */
  readonly maxConnections: number;
  /** How much a body may ask for. */
  readonly limits: RequestLimits;
  /** The proxies whose word on a client's address is believed. */
  readonly trustedProxies: readonly string[];
  /** Whether answers to Envoy bring header fields for its clients. */
  readonly responseHeaders: boolean;
  /** Whether nothing is refused, and what would have been is reported. */
  readonly shadow: boolean;
  /** Bits of an IPv6 address that count. */
  readonly ipv6Prefix: number;
  /** How the limits of keys of their own are remembered. */
  readonly lookupCache: KeyLimitsOptions | undefined;
}
