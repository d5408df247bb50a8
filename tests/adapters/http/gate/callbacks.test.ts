import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, test } from "node:test";

import { limitedFetch } from "../../../../adapters/outbound/limited_fetch.ts";
import { limitHandler as rateLimitOnNode } from "../../../../adapters/frameworks/node.ts";
import { apiLimiter } from "../../../support/adapter_behaviour.ts";
import { using } from "../../../support/adapter_subject.ts";
import { failed, FAILURE, printedBy, WAYS_TO_FAIL } from "../../../support/failing_callbacks.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { serveNode } from "../../../support/serve_node.ts";
import { type FakeOptions as Options, type FakeRequest, gateOf } from "../support/fake_gate.ts";

const request: FakeRequest = { from: "192.0.2.7" };

/** The verdicts on three requests, two of them admitted, without their functions `settle`. */
async function verdictsOf(options: Options): Promise<unknown[]> {
  const api = apiLimiter();
  const decide = gateOf({ limiter: api, ...options } as Options);
  const verdicts: unknown[] = [];
  for (let call = 0; call < 3; call++) {
    const { settle, ...verdict } = await decide(request);
    settle?.({ status: 500 });
    verdicts.push(verdict);
  }
  return [...verdicts, api.peek("192.0.2.7", 0)];
}

describe("in the gate", () => {
  const times = { onDecision: 3, partition: 3, refund: 2, respond: 1, shadow: 3 };
  for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
    for (const [option, count] of Object.entries(times)) {
      test(`${option} that ${way} changes no verdict, and is reported, otherwise printed once`, async () => {
        const expected = await verdictsOf({});
        const failures: unknown[][] = [];
        const onFailure = (...given: unknown[]) => void failures.push(given);
        const printed = await printedBy(async () => {
          assert.deepEqual(await verdictsOf({ [option]: fail, onFailure }), expected);
        });
        assert.deepEqual([printed, failures], [[], Array(count).fill([FAILURE, request])]);
        const unheard = await printedBy(() => verdictsOf({ [option]: fail }));
        assert.ok(unheard.length === 1 && unheard[0]!.includes(FAILURE));
      });
    }

    test(`onFailure that ${way} changes no verdict`, async () => {
      const expected = await verdictsOf({});
      const printed = await printedBy(async () => {
        const options: Options = { onDecision: fail, shadow: fail, onFailure: fail };
        assert.deepEqual(await verdictsOf(options), expected);
      });
      assert.equal(printed.length, 1);
    });
  }

  test("an address that is promised is unknown, and may be rejected", async () => {
    const address = WAYS_TO_FAIL["rejects later"];
    const [first] = await verdictsOf({ address, unknownAddress: "refuse" });
    assert.equal((first as { refusal: { status: number } }).refusal.status, 403);
    await failed();
  });
});

/** Asks a server of node:http under a limit for which every request costs too much. */
async function statusOnNode(
  options: Partial<Parameters<typeof rateLimitOnNode<IncomingMessage, ServerResponse>>[0]>,
): Promise<number> {
  const given = { limiter: apiLimiter(), key: () => "one", cost: 3, ...options };
  const limited = rateLimitOnNode(given as Parameters<typeof rateLimitOnNode>[0]);
  const listener = limited((_request, response) => void response.end("hello"));
  let status = 0;
  await using(await serveNode(listener), async (port) => {
    status = (await rawRequest(port)).status;
  });
  return status;
}

describe("on a server of node:http", () => {
  for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
    for (const key of [WAYS_TO_FAIL["throws"]!, WAYS_TO_FAIL["rejects"]!]) {
      test(`onError that ${way} leaves the answer a 500, of a key that ${key.name}`, async () => {
        const printed = await printedBy(async () => {
          assert.equal(await statusOnNode({ key, onError: fail }), 500);
        });
        assert.equal(printed.length, 1);
      });
    }
  }

  const unsendable: readonly object[] = [
    ...[{ status: 99 }, { status: 600 }, { status: 429.5 }, { status: "429" }, { status: 204 }],
    ...[{ contentType: "a\r\nSet-Cookie: b" }, { contentType: "" }, { body: 5 }],
  ];
  const unanswered = () => new Promise<never>(() => {});
  const responds: [what: string, respond: () => object, fault: RegExp][] = [
    ["nothing within a second", unanswered, /^Error: Cannot answer .* with respond as it must/],
    ...unsendable.map((change): [string, () => object, RegExp] => [
      JSON.stringify(change),
      () => change,
      /^TypeError: Cannot answer a refused client with respond as/,
    ]),
  ];
  for (const [what, respond, fault] of responds) {
    test(`a respond that answers ${what} is reported, and refuses`, async () => {
      const failures: unknown[] = [];
      const onFailure = (error: unknown) => failures.push(error);
      assert.equal(await statusOnNode({ respond, onFailure }), 429);
      assert.match(String(failures), fault);
    });
  }

  test("a respond may answer without a body", async () => {
    assert.equal(await statusOnNode({ respond: () => ({ status: 204, body: "" }) }), 204);
  });
});

for (const [way, fail] of Object.entries(WAYS_TO_FAIL)) {
  test(`a retry goes on where onRetry ${way}`, async () => {
    let calls = 0;
    const fetched = limitedFetch({
      onRetry: fail,
      fetch: () => {
        const headers = { "retry-after": "0" };
        return Promise.resolve(new Response(null, { status: calls++ === 0 ? 429 : 200, headers }));
      },
    });
    const printed = await printedBy(async () => {
      assert.equal((await fetched("http://a.test/")).status, 200);
    });
    assert.equal(printed.length, 1);
  });
}
