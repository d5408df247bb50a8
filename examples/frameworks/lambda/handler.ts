// handler.ts
import { gcra, limiter } from "tidegate";
import { gate } from "tidegate/http";

/** The fields that we read of events: HTTP APIs and function URLs have `http`, REST APIs `identity`. */
interface ApiEvent {
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly requestContext: {
    readonly http?: { readonly sourceIp: string };
    readonly identity?: { readonly sourceIp: string };
  };
}

interface ApiResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const decide = gate<ApiEvent>(
  {
    limiter: limiter(gcra({ name: "api", limit: 60, period: "1m", burst: 10 })),
    // The gateway says who called it, whatever X-Forwarded-For says.
    trustedProxies: [],
  },
  {
    address: ({ requestContext: { http, identity } }) => (http ?? identity)?.sourceIp,
    header: ({ headers }, name) => headers?.[name],
    signal: () => undefined,
  },
);

export async function handler(event: ApiEvent): Promise<ApiResponse> {
  const { headers, refusal } = await decide(event, undefined);
  const fields = Object.fromEntries(headers);
  if (refusal === undefined) return { statusCode: 200, headers: fields, body: "hello" };
  const { status, contentType, body } = refusal;
  return { statusCode: status, headers: { ...fields, "Content-Type": contentType }, body };
}
