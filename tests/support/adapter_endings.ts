import assert from "node:assert/strict";
import { connect } from "node:net";

import type { Outcome } from "../../adapters/http/http.ts";
import { concurrency, gcra, limiter } from "../../mod.ts";
import { oneAtOnce } from "./adapter_permits.ts";
import {
  type AdapterTests,
  type AnyOptions,
  type AppHooks,
  type AppOf,
  until,
  using,
} from "./adapter_subject.ts";
import { rawRequest } from "./raw_request.ts";
import { collectGarbage } from "./collect_garbage.ts";
import { isLong } from "./seed.ts";

const key = () => "one";
const ROUTES = [
  ...["/text", "/json", "/image", "/empty", "/missing", "/left", "/bad", "/throw"],
  ...["/replaced", "/stream"],
];

/** How requests end: each verdict once. */
export const ENDINGS: AdapterTests = {
  "ends every verdict exactly once, however its response went": async (app) => {
    const { options, ended, isFree } = watched();
    const hooks = hangingUp((end) => end(false));
    const flow = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
    let requests = 0;
    const endOnce = async (what: string) => {
      requests++;
      await until(() => ended.length >= requests && isFree(), collectGarbage);
      await new Promise((resolve) => setTimeout(resolve, 2));
      assert.equal(ended.length, requests, what);
    };
    await app.serving(options, async (port) => {
      for (const path of ROUTES) {
        const { status } = await rawRequest(port, { path });
        assert.equal(status === 429 || (status === 418) !== (path === "/replaced"), false, path);
        await endOnce(path);
      }
      for (const path of ["/text", "/json", "/throw"]) {
        assert.notEqual((await rawRequest(port, { path, method: "HEAD" })).status, 429);
        await endOnce(`HEAD ${path}`);
      }
      await cutOff(port, "/stream", 1);
      await endOnce("a stream that is cut off");
      await hooks.hangUp(port);
      await endOnce("a client that hangs up");
      if (!app.subject.upgrades) return;
      assert.equal(await echoed(port), "hello");
      await endOnce("an upgrade");
    }, { ...hooks, flow });
  },

  "limits its scope alone, and ends what it charges there": async (app) => {
    const { options, ended, isFree } = watched();
    const given = { ...app.subject.options, ...options } as AnyOptions;
    const server = await app.subject.startScoped?.(given);
    if (server === undefined) return;
    await using(server, async (port) => {
      for (const path of ["/out/text", "/out/throw"]) {
        assert.deepEqual((await rawRequest(port, { path })).values("ratelimit"), [], path);
      }
      assert.deepEqual(ended, []);
      for (const [index, path] of ["/in/text", "/in/throw", "/in/text"].entries()) {
        assert.notEqual((await rawRequest(port, { path })).status, 429, path);
        await until(() => ended.length > index && isFree());
        assert.equal(ended.length, index + 1, path);
      }
    });
  },

  "leaves the type of a response as it is": async (app) => {
    if (app.subject.releasesEarly) return;
    const { jobs, isFree } = oneAtOnce();
    await app.serving({ cost: 0 }, (plain) =>
      app.serving({ limiter: jobs, key }, async (port) => {
        for (const path of ["/text", "/json", "/image", "/stream"]) {
          const [wanted, seen] = [
            await rawRequest(plain, { path }),
            await rawRequest(port, { path }),
          ];
          assert.deepEqual(seen.values("content-type"), wanted.values("content-type"), path);
          assert.equal(seen.body, wanted.body);
          await until(isFree);
        }
      }));
  },

  "holds a permit while a response is streamed, and refuses others meanwhile": async (app) => {
    const { jobs, isFree } = oneAtOnce();
    if (app.subject.releasesEarly) return;
    let flow = () => {};
    const flows = new Promise<void>((resolve) => flow = resolve);
    await app.serving({ limiter: jobs, key }, async (port) => {
      const streamed = streaming(port);
      await streamed.began;
      assert.equal(isFree(), false);
      const { status, values } = await rawRequest(port, { path: "/text" });
      assert.equal(status, 429);
      assert.deepEqual(values("ratelimit-policy"), ['"1-at-once";q=1']);
      flow();
      assert.match(await streamed.ended, /two/);
      await until(isFree);
      assert.equal((await rawRequest(port, { path: "/text" })).status, 200);
    }, { flow: () => flows });
  },

  "holds nothing after many requests, of which a third are cut off": async (app) => {
    const jobs = limiter(concurrency({ limit: 8, ttl: "1h" }));
    const flow = () => new Promise<void>((resolve) => setTimeout(resolve, 2));
    await app.serving({ limiter: jobs, key }, async (port) => {
      const requests = isLong() ? 1_000 : 30;
      const paths = ["/stream", "/text", "/throw"];
      let sent = 0;
      let most = 0;
      await Promise.all(Array.from({ length: 10 }, async () => {
        while (sent < requests) {
          const request = sent++;
          const path = paths[Math.floor(request / 3) % 3]!;
          if (request % 3 === 0) await cutOff(port, path, request % 2);
          else await rawRequest(port, { path });
          most = Math.max(most, 8 - jobs.peek("one", 0).remaining);
        }
      }));
      assert.ok(most > 0 || app.subject.releasesEarly);
      await until(() => jobs.peek("one", 0).remaining === 8);
    }, { flow });
  },

  "reports a client that hangs up as 499, though the handler fails or answers": async (app) => {
    for (const fails of [true, false]) assert.deepEqual(await outcomes(app, fails), [499, 400]);
  },

  "gives nothing back by name to a client that hangs up": async (app) => {
    for (const refund of ["successful", "failed"] as const) {
      const rate = limiter(gcra({ limit: 2, period: "1h", burst: 2 }));
      let ended = false;
      const hooks = hangingUp((end) => (end(false), ended = true));
      await app.serving({ limiter: rate, refund, key: () => "one" }, async (port) => {
        await hooks.hangUp(port);
        await until(() => ended);
      }, hooks);
      assert.equal(rate.peek("one", 0).remaining, 1, refund);
    }
  },

  "leaves a response alone that was sent before the verdict, and runs no handler": async (app) => {
    for (const used of [0, 2]) {
      let answered = () => {};
      const sent = new Promise<void>((resolve) => answered = resolve);
      const places: string[] = [];
      const ended: number[] = [];
      const { jobs, isFree } = oneAtOnce();
      const api = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), {
        store: jobs.store,
        prefix: "api",
      });
      if (used > 0) api.consume("one", used);
      const options: AnyOptions = {
        limits: [{ limiter: api }, { limiter: jobs }],
        key: () => sent.then(() => "one"),
        refund: ({ status }) => ended.push(status) < 0,
      };
      const went = (place: string) => void places.push(place);
      const server = await app.subject.startAnswering?.(options, { answered, went });
      if (server === undefined) return;
      await using(server, async (port) => {
        const answer = await rawRequest(port);
        assert.deepEqual([answer.status, answer.body], [503, "too late"]);
        // A later fault, such as an unhandled error, fails this test.
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(places, []);
        await until(isFree);
        assert.deepEqual(ended, used > 0 ? [] : [503]);
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

/** Options with a permit and a rate, the statuses that end their verdicts, and whether the permit is free. */
function watched() {
  const { jobs, isFree } = oneAtOnce();
  const ended: number[] = [];
  const rate = limiter(gcra({ limit: 1_000, period: "1h", burst: 1_000 }), {
    store: jobs.store,
    prefix: "rate",
  });
  const options = {
    limits: [{ limiter: jobs }, { limiter: rate }],
    key,
    refund: ({ status }: Outcome) => ended.push(status) < 0,
  };
  return { options, ended, isFree };
}

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

/** A client that hangs up: at once, or when something has come. */
async function cutOff(port: number, path: string, waits: number): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.write(request(path), resolve));
  if (waits === 1) await new Promise((resolve) => socket.once("data", resolve));
  socket.destroy();
}

function request(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost:80\r\n\r\n`;
}

/** A client of `/stream`: when its first part has come, and the whole of it. */
function streaming(port: number): { began: Promise<void>; ended: Promise<string> } {
  let text = "";
  const socket = connect({ port, host: "127.0.0.1" });
  socket.write("GET /stream HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n");
  const began = new Promise<void>((resolve) =>
    socket.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes("one")) resolve();
    })
  );
  const ended = new Promise<string>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
  return { began, ended };
}
