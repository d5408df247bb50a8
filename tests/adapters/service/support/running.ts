import {
  type KeyLookup,
  type ObjectSource,
  objectSource,
  type RuleFile,
} from "../../../../adapters/rules/rules.ts";
import { serve, type ServeOptions, type Service } from "../../../../adapters/service/service.ts";

/** Rules that the tests of the service share. */
export const SHOP: RuleFile = {
  domain: "shop",
  rules: [
    { key: "user", name: "per-user", limits: [{ limit: 3, period: "1h", burst: 3 }] },
    { key: "user", value: "admin", unlimited: true },
    { key: "user", value: "mallory", blocked: true },
    { key: "plan", shadow: true, limits: [{ limit: 1, period: "1h", burst: 1 }] },
    { key: "big", limits: [{ limit: 1_000_000, period: "1h", burst: 1_000_000 }] },
    {
      key: "route",
      value: "login",
      rules: [{
        key: "address",
        name: "logins",
        limits: [{ algorithm: "fixedWindow", limit: 2, period: "1d" }],
      }],
    },
  ],
  routes: [
    {
      path: "/login",
      methods: ["POST"],
      descriptors: [{ route: "login", address: "{address}" }],
    },
    { path: "/users/:id", descriptors: [{ user: "{path.id}" }] },
    { path: "/heavy", cost: 4, descriptors: [{ user: "{header.x-user}" }] },
  ],
};

/** A source of one rule, which admits that many units a day. */
export function oneRule(
  key: string,
  limit: number,
  routes?: RuleFile["routes"],
  rule: Partial<RuleFile["rules"][number]> = {},
  lookup?: KeyLookup,
): ObjectSource {
  const rules = [{ key, limits: [{ limit, period: "1d" as const, burst: limit }], ...rule }];
  return objectSource({ domain: "shop", rules, routes }, lookup);
}

/** Runs a service on a free port for as long as the work takes. */
export async function withService(
  work: (service: Service) => Promise<void>,
  options: Partial<ServeOptions> = {},
): Promise<void> {
  const service = await serve({ rules: objectSource(SHOP), port: 0, ...options });
  try {
    await work(service);
  } finally {
    await service.stop(500);
  }
}

/** A descriptor of Envoy's. */
export function descriptor(value: string, more: object = {}, key = "user"): object {
  return { entries: [{ key, value }], ...more };
}

/** Waits until something is so, for a minute at most. */
export async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!await isSo()) {
    if (performance.now() > end) throw new Error(`Waited in vain for a minute until ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** An answer with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** Posts a body, as JSON unless it is text, and reads the answer. */
export async function post(
  service: Pick<Service, "url">,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return await answered(
    await fetch(`${service.url}${path}`, { method: "POST", body: text, headers }),
  );
}

/** Gets a path, and reads the answer. */
export async function get(
  service: Pick<Service, "url">,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return await answered(await fetch(`${service.url}${path}`, { headers }));
}

async function answered(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  };
}
