import {
  type EnvoyAnswer,
  type EnvoyCall,
  type EnvoyDescriptor,
  type EnvoyStatus,
  UNIT_NAMES,
} from "./envoy_call.ts";
import { fieldsOf, messageField, textField, textOf, varintField } from "./protobuf.ts";

/**
 * Reads a RateLimitRequest (v3).
 *
 * @throws {RangeError} If the message is cut off.
 * @throws {TypeError} If a text is no UTF-8.
 */
export function callOfMessage(message: Uint8Array): EnvoyCall {
  let domain = "";
  let hitsAddend = 0;
  const descriptors: EnvoyDescriptor[] = [];
  for (const { number, value, bytes } of fieldsOf(message)) {
    if (number === 1) domain = textOf(bytes);
    else if (number === 2) descriptors.push(descriptorOf(bytes));
    else if (number === 3) hitsAddend = value;
  }
  return { domain, descriptors, hitsAddend };
}

function descriptorOf(message: Uint8Array): EnvoyDescriptor {
  const entries: [string, string][] = [];
  let limit: EnvoyDescriptor["limit"];
  let hitsAddend: number | undefined;
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 1) entries.push(entryOf(bytes));
    else if (number === 2) limit = limitOf(bytes);
    else if (number === 3) hitsAddend = wrappedOf(bytes);
  }
  return { entries, limit, hitsAddend };
}

function entryOf(message: Uint8Array): [string, string] {
  const entry: [string, string] = ["", ""];
  for (const { number, bytes } of fieldsOf(message)) {
    if (number === 1) entry[0] = textOf(bytes);
    else if (number === 2) entry[1] = textOf(bytes);
  }
  return entry;
}

function limitOf(message: Uint8Array): NonNullable<EnvoyDescriptor["limit"]> {
  let requestsPerUnit = 0;
  let unit = 0;
  for (const { number, value } of fieldsOf(message)) {
    if (number === 1) requestsPerUnit = value;
    else if (number === 2) unit = value;
  }
  return { requestsPerUnit, unit: UNIT_NAMES[unit] ?? "UNKNOWN" };
}

/** A google.protobuf.UInt64Value: present though it is 0. */
function wrappedOf(message: Uint8Array): number {
  let wrapped = 0;
  for (const { number, value } of fieldsOf(message)) {
    if (number === 1) wrapped = value;
  }
  return wrapped;
}

const CODES: Readonly<Record<EnvoyStatus["code"], number>> = { OK: 1, OVER_LIMIT: 2 };

/** Writes a RateLimitResponse (v3). */
export function messageOfAnswer({ overallCode, statuses }: EnvoyAnswer): Uint8Array {
  return new Uint8Array([
    ...varintField(1, CODES[overallCode]),
    ...statuses.flatMap((status) => messageField(2, statusMessage(status))),
  ]);
}

function statusMessage(status: EnvoyStatus): number[] {
  const { code, currentLimit, limitRemaining, durationUntilReset } = status;
  return [
    ...varintField(1, CODES[code]),
    ...(currentLimit === undefined ? [] : messageField(2, [
      ...varintField(1, currentLimit.requestsPerUnit),
      ...varintField(2, UNIT_NAMES.indexOf(currentLimit.unit)),
      ...textField(3, currentLimit.name),
    ])),
    ...varintField(3, limitRemaining),
    ...(durationUntilReset === undefined
      ? []
      : messageField(4, varintField(1, durationUntilReset))),
  ];
}
