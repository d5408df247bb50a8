// app/api/hello/route.ts
import { gcra, limiter } from "tidegate";
import { rateLimit } from "tidegate/http";

const limited = rateLimit({
  limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
  // Next shows no socket. What stands last in X-Forwarded-For is from the server before it.
  address: () => "127.0.0.1",
  trustedProxies: ["loopback"],
});

export const GET = limited(() => Response.json({ hello: "world" }));
