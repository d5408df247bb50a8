import assert from "node:assert/strict";
import { connect } from "node:net";

import type { Outcome } from "../../adapters/http/http.ts";
import {
  type AdapterTests,
  apiLimiter,
  type AppHooks,
  type AppOf,
  until,
  using,
} from "./adapter_subject.ts";
import { rawRequest } from "./raw_request.ts";

/** How requests end that do not end well. */
export const ENDINGS: AdapterTests = {
  "reports a client that hangs up as 499, though the handler notices and fails": async (app) => {
    assert.deepEqual(await outcomes(app, true), [499, 400]);
  },

  "reports a client that hangs up as 499, though the handler answers": async (app) => {
    assert.deepEqual(await outcomes(app, false), [499, 400]);
  },

  "gives nothing back by name to a client that hangs up": async (app) => {
    for (const refund of ["successful", "failed"] as const) {
      const limiter = apiLimiter();
      let ended = false;
      const hooks = hangingUp((end) => (end(false), ended = true));
      await app.serving({ limiter, refund, key: () => "one" }, async (port) => {
        await hooks.hangUp(port);
        await until(() => ended);
      }, hooks);
      assert.equal(limiter.peek("one", 0).remaining, 1, refund);
    }
  },

  "leaves a response alone that was sent before the verdict, and runs no handler": async (app) => {
    for (const used of [0, 2]) {
      const limiter = apiLimiter();
      if (used > 0) limiter.consume("one", used);
      let answered = () => {};
      const sent = new Promise<void>((resolve) => answered = resolve);
      const places: string[] = [];
      const options = { limiter, key: () => sent.then(() => "one") };
      const went = (place: string) => void places.push(place);
      const server = await app.subject.startAnswering?.(options, { answered, went });
      if (server === undefined) return;
      await using(server, async (port) => {
        const answer = await rawRequest(port);
        assert.deepEqual([answer.status, answer.body], [503, "too late"]);
        // A later fault, such as an unhandled error, fails this test.
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(places, []);
      });
    }
  },

  "limits an upgrade to a websocket, and leaves it as it is": (app) =>
    app.serving({}, async (port) => {
      if (!app.subject.upgrades) {
        const lines = ["Upgrade: websocket"];
        assert.equal((await rawRequest(port, { path: "/text", lines })).status, 200);
        return;
      }
      assert.equal(await echoed(port), "hello");
      assert.equal((await rawRequest(port)).status, 200);
      assert.equal((await rawRequest(port)).status, 429);
      assert.equal(await echoed(port), undefined);
    }),
};

/** Hooks whose `/slow` ends once its client has gone, and `hangUp`, which is such a client. */
function hangingUp(
  ending: (end: (fails: boolean) => void) => void,
): AppHooks & { hangUp(port: number): Promise<void> } {
  let began = () => {};
  const begun = new Promise<void>((resolve) => began = resolve);
  return {
    flow: () => Promise.resolve(),
    slow(whenGone, end) {
      whenGone(() => ending(end));
      began();
    },
    async hangUp(port) {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.on("error", () => {});
      socket.write("GET /slow HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
      await begun;
      socket.destroy();
    },
  };
}

/** The statuses that `refund` sees of a client that hangs up, and of the next one. */
async function outcomes(app: AppOf, fails: boolean): Promise<readonly number[]> {
  const seen: number[] = [];
  const refund = ({ status }: Outcome) => seen.push(status) < 0;
  const hooks = hangingUp((end) => end(fails));
  await app.serving({ refund, key: () => "one" }, async (port) => {
    await hooks.hangUp(port);
    await until(() => seen.length === 1);
    assert.equal((await rawRequest(port, { path: "/bad" })).status, 400);
    await until(() => seen.length === 2);
  }, hooks);
  return seen;
}

/** Sends a message through a websocket, and answers what comes back; `undefined` if it is refused. */
function echoed(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
    let answer: string | undefined;
    socket.onopen = () => socket.send("hello");
    socket.onmessage = ({ data }) => {
      answer = String(data);
      socket.close();
    };
    socket.onerror = () => {};
    socket.onclose = () => resolve(answer);
  });
}
