import { type FollowedRequestRules, requestRules } from "../../adapters/rules/rules.ts";

/** Uses rules that admit one request to the route `/api/login`. */
export async function withLoginRules(
  use: (rules: FollowedRequestRules) => Promise<void>,
): Promise<void> {
  const rules = await requestRules({
    domain: "web",
    routes: [{ path: "/api/login", descriptors: [{ path: "{path}" }] }],
    rules: [{ key: "path", value: "/api/login", limits: [{ limit: 1, period: "1h" }] }],
  });
  try {
    await use(rules);
  } finally {
    await rules.close();
  }
}
