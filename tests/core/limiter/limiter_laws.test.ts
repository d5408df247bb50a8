import { test } from "node:test";
import { limiterLaws } from "../../../adapters/testing/testing.ts";
import { limiterOn } from "../../../core/limiter/limiter.ts";
import { memoryStore } from "../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../support/seed.ts";

const onMemory = limiterLaws((algorithm, clock) =>
  limiterOn(algorithm, memoryStore(), "laws", { clock })
);
for (const law of onMemory) {
  test(`limiter: ${law.name}`, async () => await law.run(fcOptions()));
}
