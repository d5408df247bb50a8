/*
 * Keys that cannot be used. Keys come from clients, so none of them is an error: such a request is
 * refused.
 */

import { LONGEST_KEY } from "../../../core/options/longest_key.ts";
import type { RequestSource } from "../address/client_key.ts";
import { BAD_KEY, GONE, KEY_TOO_LONG, type Refusal, UNKNOWN_ADDRESS } from "../gate/refusal.ts";

/** A lone surrogate: half a character, which stores cannot keep as text. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The treatment of a request whose address is not known. */
export type UnknownAddress = "refuse" | "admit" | undefined;

/** The treatment of a request without a key. */
export type MissingKey = "refuse" | "admit" | undefined;

/**
 * Checks a key. Returns a refusal if the key cannot be used, `"admit"` if the request may pass
 * without a limit, and `undefined` if the key is right.
 */
export type KeyCheck = (
  key: string | null | undefined,
  request: unknown,
  info: unknown,
  shadowed: boolean,
) => Refusal | "admit" | undefined;

/**
 * Makes the function that answers requests whose keys cannot be used.
 *
 * @param missingKey The treatment of a request without a key; `undefined` if the keys are addresses, and do not come
 * from the option `key`.
 * @param notice Receives the error of an unknown address in shadow mode.
 */
export function keyCheck(
  missingKey: MissingKey,
  unknownAddress: UnknownAddress,
  source: Pick<RequestSource<unknown, unknown>, "signal">,
  notice: (error: unknown, request: unknown) => void,
): KeyCheck {
  function ofUnknownAddress(
    request: unknown,
    info: unknown,
    shadowed: boolean,
  ): Refusal | "admit" {
    if (unknownAddress === "admit") return "admit";
    if (unknownAddress === "refuse") return UNKNOWN_ADDRESS;
    // The client has left, and its address with it. Nobody would read an answer.
    if (source.signal(request, info)?.aborted) return GONE;
    const error = new TypeError(
      "Cannot limit the rate as the address of the client must be known: give `key`, `address` " +
        "or `unknownAddress`",
    );
    if (!shadowed) throw error;
    notice(error, request);
    return "admit";
  }

  return function faultOf(key, request, info, shadowed) {
    if (key === undefined || key === null || key === "") {
      if (missingKey === undefined) return ofUnknownAddress(request, info, shadowed);
      return missingKey === "admit" ? "admit" : BAD_KEY;
    }
    // A key of another type is a fault of the option, and the limiter throws an error about it.
    if (missingKey === undefined || typeof key !== "string") return undefined;
    if (key.length > LONGEST_KEY) return KEY_TOO_LONG;
    return LONE_SURROGATE.test(key) ? BAD_KEY : undefined;
  };
}
