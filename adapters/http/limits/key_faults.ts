/*
 * Keys that cannot be used. Keys come from clients, so none of them is an error: such a request is
 * refused.
 */

import { LONGEST_KEY } from "../../../core/options/longest_key.ts";
import type { RequestSource } from "../address/client_key.ts";
import { BAD_KEY, GONE, KEY_TOO_LONG, type Refusal, UNKNOWN_ADDRESS } from "../gate/refusal.ts";

/** Stores keep text, and half a character is not text. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The treatment of a request whose address is not known. */
export type UnknownAddress = "refuse" | "admit" | undefined;

/**
 * Finds what is wrong with a key: the refusal; `"admit"` if the request is to pass without a limit;
 * `undefined` if nothing is.
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
 * @param isOwn Whether the keys are of an option, and no addresses.
 * @param notice Given the error of an unknown address in shadow mode.
 */
export function keyCheck(
  isOwn: boolean,
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
    // The address is gone with the connection, and nobody would read an answer.
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
      return unknownAddress === undefined && !(!isOwn && key === undefined)
        ? BAD_KEY
        : ofUnknownAddress(request, info, shadowed);
    }
    // A key of another type is the fault of the option, and the limiter says so.
    if (!isOwn || typeof key !== "string") return undefined;
    if (key.length > LONGEST_KEY) return KEY_TOO_LONG;
    return LONE_SURROGATE.test(key) ? BAD_KEY : undefined;
  };
}
