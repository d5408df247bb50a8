import {
  gate,
  type GateVerdict,
  type RateLimitOptions,
  type RequestSource,
} from "../../../../adapters/http/http.ts";
import { apiLimiter } from "../../../support/adapter_behaviour.ts";

/** A request of no framework. */
export interface FakeRequest {
  readonly from?: string;
  readonly signal?: AbortSignal;
}

/** Options of a gate for such requests. */
export type FakeOptions = Partial<RateLimitOptions<FakeRequest>>;

const source: RequestSource<FakeRequest> = {
  address: ({ from }) => from,
  header: () => null,
  signal: ({ signal }) => signal,
};

/** A gate that limits at two of one client, unless the options say otherwise. */
export function gateOf(
  options: FakeOptions = {},
): (request?: FakeRequest) => GateVerdict | Promise<GateVerdict> {
  const decide = gate(
    { limiter: apiLimiter(), ...options } as RateLimitOptions<FakeRequest>,
    source,
  );
  return (request = { from: "192.0.2.7" }) => decide(request, undefined);
}
