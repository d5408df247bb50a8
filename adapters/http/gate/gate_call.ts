import type { LimitPlan } from "./limit_plan.ts";

/** A request whose limiter, key and cost are known. */
export interface GateCall<Request, Info> {
  readonly request: Request;
  readonly info: Info;
  readonly plan: LimitPlan;
  readonly key: string;
  readonly units: number;
  readonly shadowed: boolean;
}
