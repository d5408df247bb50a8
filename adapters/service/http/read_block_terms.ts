/*
 * Reads how long, and why, to block the requests of a body.
 */

import { formatValue, readPeriod, readReason } from "../../../core/application_support.ts";
import { parseJson, refuse } from "./service_answer.ts";

/** The terms of a block. */
export interface BlockTerms {
  /** Whole milliseconds. */
  readonly duration: number;
  /** The reason that was given, for the log. */
  readonly reason: string | undefined;
}

/**
 * Reads the terms of each request of a body that `readRequest` has read, and refuses malformed ones.
 *
 * @param text The body.
 */
export function readBlockTerms(text: string): readonly BlockTerms[] {
  const data = parseJson(text);
  const many = Array.isArray(data);
  return (many ? data : [data]).map((each, index) => {
    const { duration, reason } = each as { readonly duration: never; readonly reason: never };
    const place = many ? `[${index}].` : "";
    try {
      return {
        duration: readPeriod("block", `${place}duration`, duration),
        reason: readReason(reason),
      };
    } catch (error) {
      const rule = error instanceof Error ? error.message : formatValue(error);
      return refuse(400, rule);
    }
  });
}
