import fc from "fast-check";

/** A step of a random play on one of two keys. */
export interface Play {
  readonly wait: number;
  readonly key: "a" | "b";
  readonly action: "consume" | "peek" | "refund" | "reset";
  readonly cost: number;
}

/** Random plays: mostly taking, more than the limits have. */
export function plays(): fc.Arbitrary<readonly Play[]> {
  const action = fc.oneof(
    { weight: 12, arbitrary: fc.constant("consume" as const) },
    { weight: 3, arbitrary: fc.constant("peek" as const) },
    { weight: 1, arbitrary: fc.constant("refund" as const) },
    { weight: 1, arbitrary: fc.constant("reset" as const) },
  );
  return fc.array(
    fc.record({
      wait: fc.oneof(fc.constant(0), fc.nat({ max: 30 }), fc.nat({ max: 2_000 })),
      key: fc.constantFrom("a" as const, "b" as const),
      action,
      cost: fc.integer({ min: 1, max: 12 }),
    }),
    { minLength: 1, maxLength: 60, size: "max" },
  );
}
