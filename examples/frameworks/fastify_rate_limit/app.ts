// app.ts
import fastifyRateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import process from "node:process";
import { memoryStore } from "tidegate";
import { fastifyRateLimitStore } from "tidegate/fastify";

const app = Fastify();
await app.register(fastifyRateLimit, {
  max: 10,
  timeWindow: "1 minute",
  store: fastifyRateLimitStore({ store: memoryStore(), prefix: "web" }),
});
app.get("/", () => "hello");
await app.listen({ port: Number(process.env.PORT ?? 3000) });
