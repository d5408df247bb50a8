/*
 * Redis over HTTP, as Upstash offers it, for servers that can open no sockets: a sender for
 * redisStore. Each batch of decisions is one request.
 *
 *   const store = redisStore(restSender(url, token), { commit: "auto", deadline: 1_000 });
 */
import type { RedisSender } from "../stores/redis/redis_store.ts";

/** Sends commands to a server's `/pipeline`, with a token. */
export function restSender(url: string, token: string): RedisSender {
  return {
    async send(commands) {
      const response = await fetch(`${url}/pipeline`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(commands),
        // After the store's deadlines nobody waits for the reply.
        signal: AbortSignal.timeout(5_000),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      const replies: readonly Reply[] = await response.json();
      return replies.map(({ result, error }) => error === undefined ? result : new Error(error));
    },
  };
}

/** The reply to one command. */
interface Reply {
  readonly result?: unknown;
  readonly error?: string;
}
