import { gcra } from "../../../mod.ts";

/** The rate that all regions share. */
export const RATE = { limit: 1_000, period: 1_000, burst: 200 } as const;
/** Its policy. */
export const POLICY = gcra(RATE);
/** The units of a block, and for how many milliseconds it may be used. */
export const UNITS = 20;
export const TTL = 100;
