import { Cause, Effect, Exit } from "effect";

import { layerMemory, layerRateLimit } from "../../../../adapters/effect/effect.ts";

/** The defect of a middleware with these options; `undefined` if it can be made. */
export async function defectOf(options: unknown): Promise<unknown> {
  const made = Effect.void.pipe(
    Effect.provide(layerRateLimit(options as never)),
    Effect.provide(layerMemory()),
  );
  const exit = await Effect.runPromiseExit(made);
  return Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? Cause.squash(exit.cause) : undefined;
}
