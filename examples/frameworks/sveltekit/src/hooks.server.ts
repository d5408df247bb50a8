// src/hooks.server.ts
import { building } from "$app/env"; // SvelteKit 2: "$app/environment"
import type { Handle } from "@sveltejs/kit/hooks"; // SvelteKit 2: "@sveltejs/kit"
import { gcra, limiter } from "tidegate";
import { limitHandler } from "tidegate/http";

const limited = limitHandler<Parameters<Handle>[0]>({
  limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
  address: (_request, { event }) => event.getClientAddress(),
  skip: () => building,
})((_request, { event, resolve }) => resolve(event));

export const handle: Handle = (input) => limited(input.event.request, input);
