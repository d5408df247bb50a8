// app.ts
import fastifyRateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import process from "node:process";
import { memoryStore } from "tidegate";
import { fastifyRateLimitStore } from "tidegate/fastify";

const store = memoryStore(); // or that of tidegate/shared, or of tidegate/redis
const app = Fastify();
await app.register(fastifyRateLimit, {
  max: 10,
  timeWindow: "1 minute",
  store: fastifyRateLimitStore({ store, prefix: "web" }),
});
// The plugin does not close stores, and one on Redis keeps the process running.
app.addHook("onClose", () => store.close());
app.get("/", () => "hello");
await app.listen({ port: Number(process.env.PORT ?? 3000) });
