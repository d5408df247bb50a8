import { describe, test } from "node:test";
import { algorithmLaws, type SubjectName, subjects } from "../../../adapters/testing/testing.ts";
import { fcOptions } from "../../support/seed.ts";

for (const [name, subject] of Object.entries(subjects) as [SubjectName, typeof subjects.gcra][]) {
  describe(name, () => {
    for (const law of algorithmLaws(subject())) {
      test(`${name}: ${law.name}`, () => law.run(fcOptions({ numRuns: 36 })));
    }
  });
}
