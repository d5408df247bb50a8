// server/middleware/limit.ts
import type { H3Event } from "h3";
import { gcra, limiter } from "tidegate";
import { gate } from "tidegate/http";

const decide = gate<H3Event>(
  { limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })) },
  {
    address: (event) => getRequestIP(event),
    header: (event, name) => getRequestHeader(event, name),
    signal: () => undefined,
  },
);

export default defineEventHandler(async (event) => {
  const { headers, refusal } = await decide(event, undefined);
  for (const [name, value] of headers) setResponseHeader(event, name, value);
  if (refusal === undefined) return;
  setResponseStatus(event, refusal.status);
  setResponseHeader(event, "Content-Type", refusal.contentType);
  return refusal.body;
});
