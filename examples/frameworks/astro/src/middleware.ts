// src/middleware.ts
import type { APIContext, MiddlewareNext } from "astro";
import { gcra, limiter } from "tidegate";
import { limitHandler } from "tidegate/http";

const limited = limitHandler<{ context: APIContext; next: MiddlewareNext }>({
  limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
  address: (_request, { context }) => context.clientAddress,
  skip: (_request, { context }) => context.isPrerendered,
})((_request, { next }) => next());

export const onRequest = (context: APIContext, next: MiddlewareNext) =>
  limited(context.request, { context, next });
