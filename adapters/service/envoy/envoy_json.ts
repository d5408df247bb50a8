import type { EnvoyAnswer, EnvoyCall, EnvoyDescriptor, EnvoyStatus } from "./envoy_call.ts";
import { UNIT_NAMES } from "./envoy_call.ts";
import type { RequestLimits } from "../http/read_request.ts";

type Data = Readonly<Record<string, unknown>>;

/**
 * Reads a call in protobuf's JSON form: names in either spelling, numbers also as text.
 *
 * @returns The call, or what is wrong.
 */
export function callOfJson(text: string, limits: RequestLimits): EnvoyCall | string {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return "the body must be JSON";
  }
  if (!isMap(data)) return "the body must be a map";
  const list = data.descriptors ?? [];
  if (!Array.isArray(list) || list.length > limits.maxDescriptors) {
    return `descriptors must be a list of at most ${limits.maxDescriptors} items`;
  }
  const descriptors: EnvoyDescriptor[] = [];
  for (const item of list) {
    const descriptor = descriptorOf(item, limits);
    if (typeof descriptor === "string") return descriptor;
    descriptors.push(descriptor);
  }
  const hitsAddend = numberOf(data.hitsAddend ?? data.hits_addend ?? 0);
  if (hitsAddend === undefined) return "hitsAddend must be an integer from 0 to 4294967295";
  const domain = data.domain ?? "";
  if (typeof domain !== "string") return "domain must be text";
  return { domain, descriptors, hitsAddend };
}

function descriptorOf(item: unknown, limits: RequestLimits): EnvoyDescriptor | string {
  if (!isMap(item)) return "a descriptor must be a map";
  const list = item.entries ?? [];
  if (!Array.isArray(list) || list.length > limits.maxEntries) {
    return `entries must be a list of at most ${limits.maxEntries} items`;
  }
  const entries: [string, string][] = [];
  for (const entry of list) {
    const { key = "", value = "" } = isMap(entry) ? entry : { key: undefined, value: 0 };
    if (!isText(key, limits) || !isText(value, limits)) {
      return `an entry must have a key and a value of at most ${limits.maxText} characters`;
    }
    entries.push([key, value]);
  }
  const own = item.hitsAddend ?? item.hits_addend;
  const hitsAddend = own === undefined || own === null ? undefined : numberOf(own);
  if (own !== undefined && own !== null && hitsAddend === undefined) {
    return "hitsAddend must be an integer from 0 to 4294967295";
  }
  const limit = item.limit === undefined || item.limit === null ? undefined : limitOf(item.limit);
  if (typeof limit === "string") return limit;
  return { entries, limit, hitsAddend };
}

function limitOf(data: unknown): NonNullable<EnvoyDescriptor["limit"]> | string {
  if (!isMap(data)) return "limit must be a map";
  const requestsPerUnit = numberOf(data.requestsPerUnit ?? data.requests_per_unit ?? 0);
  if (requestsPerUnit === undefined) {
    return "requestsPerUnit must be an integer from 0 to 4294967295";
  }
  const { unit = 0 } = data;
  const name = typeof unit === "number" ? UNIT_NAMES[unit] : unit;
  if (typeof name !== "string" || !UNIT_NAMES.includes(name)) {
    return `unit must be one of ${UNIT_NAMES.slice(1).join(", ")}`;
  }
  return { requestsPerUnit, unit: name };
}

function isMap(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown, { maxText }: RequestLimits): value is string {
  return typeof value === "string" && value.length <= maxText;
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 0 && number < 2 ** 32
    ? number
    : undefined;
}

/** The answer in protobuf's JSON form, without what is at its default. */
export function jsonOfAnswer({ overallCode, statuses }: EnvoyAnswer): string {
  return JSON.stringify({ overallCode, statuses: statuses.map(statusJson) });
}

function statusJson(status: EnvoyStatus): Data {
  const { code, currentLimit, limitRemaining, durationUntilReset } = status;
  return {
    code,
    ...(currentLimit === undefined ? {} : {
      currentLimit: {
        ...(currentLimit.name === "" ? {} : { name: currentLimit.name }),
        requestsPerUnit: currentLimit.requestsPerUnit,
        ...(currentLimit.unit === "UNKNOWN" ? {} : { unit: currentLimit.unit }),
      },
    }),
    ...(limitRemaining === 0 ? {} : { limitRemaining }),
    ...(durationUntilReset === undefined ? {} : { durationUntilReset: `${durationUntilReset}s` }),
  };
}
