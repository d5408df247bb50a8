import { describe, test } from "node:test";

import { ENDINGS } from "./adapter_endings.ts";
import { FAILURES } from "./adapter_failures.ts";
import { LIMITS } from "./adapter_limits.ts";
import { PERMITS } from "./adapter_permits.ts";
import { type AdapterSubject, appOf } from "./adapter_subject.ts";
import { OPTIONS, VERDICTS } from "./adapter_verdicts.ts";

export { type AdapterSubject, type AnyOptions, apiLimiter } from "./adapter_subject.ts";

/** The behaviour of every inbound adapter, with the real framework over a real socket. */
export function describeAdapter(name: string, subject: AdapterSubject): void {
  describe(name, () => {
    for (
      const [what, run] of Object.entries({
        ...VERDICTS,
        ...OPTIONS,
        ...LIMITS,
        ...FAILURES,
        ...ENDINGS,
        ...PERMITS,
      })
    ) {
      test(what, () => run(appOf(subject)));
    }
  });
}
