import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { handler } from "../../examples/frameworks/lambda/handler.ts";

/** Events as AWS documents them, without what nobody reads here. */
const EVENTS: Readonly<Record<string, (sourceIp: string) => Parameters<typeof handler>[0]>> = {
  "an HTTP API (2.0)": (sourceIp) => ({
    ...{ version: "2.0", routeKey: "$default", rawPath: "/hello", rawQueryString: "" },
    headers: { host: "id.execute-api.us-east-1.amazonaws.com", "x-forwarded-for": "203.0.113.9" },
    requestContext: {
      ...{ accountId: "123456789012", apiId: "id", requestId: "id", stage: "$default" },
      http: {
        ...{ method: "GET", path: "/hello", protocol: "HTTP/1.1", userAgent: "agent" },
        sourceIp,
      },
    },
    isBase64Encoded: false,
  }),
  "a REST API (1.0)": (sourceIp) => ({
    ...{ version: "1.0", resource: "/hello", path: "/hello", httpMethod: "GET" },
    headers: { "X-Forwarded-For": "203.0.113.9" },
    multiValueHeaders: { "X-Forwarded-For": ["203.0.113.9"] },
    requestContext: {
      ...{ accountId: "123456789012", resourceId: "id", stage: "prod", protocol: "HTTP/1.1" },
      identity: { cognitoIdentityId: null, sourceIp, userAgent: "agent", userArn: null },
    },
    body: null,
    isBase64Encoded: false,
  }),
};

describe("the recipe for AWS Lambda", () => {
  for (const [index, [name, eventFrom]] of Object.entries(EVENTS).entries()) {
    test(`limits each client of ${name}: ten times 200, then 429`, async () => {
      const event = eventFrom(`192.0.2.${index}`);
      for (let call = 0; call < 10; call++) {
        const { statusCode, headers } = await handler(event);
        assert.equal(statusCode, 200);
        assert.equal(headers["RateLimit-Policy"], '"api";q=60;w=60');
        assert.match(String(headers["RateLimit"]), /^"api";r=\d;t=1$/);
      }
      let refused = await handler(event);
      // A second may have passed meanwhile.
      if (refused.statusCode === 200) refused = await handler(event);
      assert.equal(refused.statusCode, 429);
      assert.equal(refused.headers["Retry-After"], "1");
      assert.equal(refused.headers["Content-Type"], "application/problem+json");
      assert.deepEqual(JSON.parse(refused.body)["violated-policies"], ["api"]);
      assert.equal((await handler(eventFrom(`198.51.100.${index}`))).statusCode, 200);
    });
  }
});
