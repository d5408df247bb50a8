import { test } from "node:test";
import { fcOptions } from "../../support/seed.ts";
import { windowLaws } from "./support/window_laws.ts";

for (const law of windowLaws) test(law.name, () => law.run(fcOptions({ numRuns: 60 })));
