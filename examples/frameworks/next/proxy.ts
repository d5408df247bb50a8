// proxy.ts (middleware.ts before Next 16)
import { NextResponse } from "next/server";
import { gcra, limiter } from "tidegate";
import { limitHandler } from "tidegate/http";

const limited = limitHandler({
  limiter: limiter(gcra({ name: "pages", limit: 60, period: "1m", burst: 10 })),
  // Only behind a proxy that sets X-Forwarded-For: Next shows no socket, so its last entry counts.
  address: () => "127.0.0.1",
  trustedProxies: ["loopback"],
});

export const proxy = limited(() => NextResponse.next());
export const config = { matcher: "/pages/:path*" };
