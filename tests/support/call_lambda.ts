/** Calls the recipe for AWS Lambda, and prints the answers as a line of JSON. */
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

const answers = [];
for (const [index, eventFrom] of Object.values(EVENTS).entries()) {
  // One call more than the burst, one because a second may have passed, one of somebody else.
  const calls = [...Array<string>(12).fill(`192.0.2.${index}`), `198.51.100.${index}`];
  for (const address of calls) answers.push(await handler(eventFrom(address)));
}
console.log(JSON.stringify(answers));
