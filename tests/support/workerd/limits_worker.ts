/*
 * A worker of Cloudflare, bundled and run in workerd by durable_object.test.ts: its Durable Objects run
 * the laws on their own storage, and take from a limit of 20.
 */
import { driverLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { durableObject, type ObjectStorage } from "../../../examples/drivers/durable_object.ts";
import { gcra, limiter } from "../../../mod.ts";
import { lockedStore } from "../../../stores/stores.ts";

interface Environment {
  readonly LIMITS: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

/** The object of a name. */
export class Limits {
  readonly #storage: ObjectStorage;

  constructor({ storage }: { readonly storage: ObjectStorage }) {
    this.#storage = storage;
  }

  /** Takes, or runs the laws; answers in JSON. */
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/laws")) {
      return Response.json(await runLaws(this.#storage, Number(searchParams.get("seed"))));
    }
    const store = lockedStore(durableObject(this.#storage));
    const api = limiter(gcra({ limit: 20, period: "365d", burst: 20 }), { store, prefix: "api" });
    return Response.json(api.consume("key").allowed);
  }
}

async function runLaws(storage: ObjectStorage, seed: number): Promise<Record<string, string>> {
  const make = () => lockedStore(durableObject(storage));
  const laws = [
    ...driverLaws(() => durableObject(storage)),
    ...storeLaws(make, { reuse: true }),
  ];
  const outcomes: Record<string, string> = {};
  for (const { name, run } of laws) {
    outcomes[name] = await Promise.resolve(run({ seed, numRuns: 5 })).then(() => "kept", String);
  }
  return outcomes;
}

export default {
  /** Passes a request on to the object that its first part names. */
  fetch(request: Request, { LIMITS }: Environment): Promise<Response> {
    const [, name = ""] = new URL(request.url).pathname.split("/");
    return LIMITS.get(LIMITS.idFromName(name)).fetch(request);
  },
};
