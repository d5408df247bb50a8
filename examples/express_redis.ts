/*
 * Express on several machines, with one limit on Redis. Refusals are answered from memory. While Redis
 * is away, each process admits a quarter of the limit.
 *
 *   REDIS_URL=redis://127.0.0.1:6379 PORT=8080 bun examples/express_redis.ts
 */
import process from "node:process";
import express from "express";
import { createClient } from "redis";
import { gcra, limiter, memoryStore } from "tidegate";
import { rateLimit } from "tidegate/express";
import { redisStore } from "tidegate/redis";
import { denyCache, fallback } from "tidegate/stores";

const client = createClient({ url: process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379" });
const redis = redisStore(client, { commit: "auto" });
const store = denyCache(fallback(redis, memoryStore(), { share: 1 / 4 }));
const api = limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 8 }), {
  store,
  prefix: "api",
});

const app = express();
app.use(rateLimit({ limiter: api, onFailure: (error) => console.error(error) }));
app.get("/", (_request, response) => void response.send("hello\n"));

const server = app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : address;
  console.log(`Listening on http://127.0.0.1:${port}/`);
});
process.on("SIGTERM", () => {
  server.close(() => redis.close());
  server.closeIdleConnections();
});
