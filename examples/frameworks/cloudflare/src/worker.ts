// src/worker.ts
import { gcra, limiter } from "tidegate";
import { clientKey, limitHandler } from "tidegate/http";

interface Env {
  readonly CLIENTS: {
    getByName(name: string): { fetch(request: Request): Promise<Response> };
  };
}

const address = ({ headers }: Request) => headers.get("cf-connecting-ip");
const client = clientKey<Env>({ address });

const limited = limitHandler({
  limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
  address,
});

/** A Durable Object for each client, so that its limit is one everywhere. */
export class Client {
  readonly fetch = limited(() => new Response("hello"));
}

export default {
  fetch(request: Request, env: Env) {
    return env.CLIENTS.getByName(client(request, env) ?? "unknown").fetch(request);
  },
};
