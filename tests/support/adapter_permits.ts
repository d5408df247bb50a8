import assert from "node:assert/strict";
import { connect } from "node:net";

import { concurrency, gcra, limiter } from "../../mod.ts";
import { type AdapterTests, type AppOf, until } from "./adapter_subject.ts";
import { rawRequest } from "./raw_request.ts";
import { isLong } from "./seed.ts";

const key = () => "one";

/** A limiter of one request at a time, whose permits do not expire as long as a test lasts. */
function oneAtOnce() {
  const jobs = limiter(concurrency({ limit: 1, ttl: "1h" }));
  return { jobs, isFree: () => jobs.peek("one", 0).remaining === 1 };
}

/** Requests that hold a permit until their response has ended. */
export const PERMITS: AdapterTests = {
  "releases a permit when the response has ended, whatever it was": async (app) => {
    const { jobs, isFree } = oneAtOnce();
    await app.serving({ limiter: jobs, key }, async (port) => {
      for (const path of ["/text", "/json", "/empty", "/bad", "/throw", "/missing", "/image"]) {
        const { status } = await rawRequest(port, { path });
        assert.notEqual(status, 429, path);
        await until(isFree);
      }
      const { status } = await rawRequest(port, { path: "/text", method: "HEAD" });
      assert.notEqual(status, 429);
      await until(isFree);
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

  "releases a permit when the client hangs up in the middle of a stream": (app) =>
    hangsUp(app, "/stream"),

  "releases a permit when the client hangs up before there is an answer": (app) =>
    hangsUp(app, "/slow"),

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

  "takes nothing of any limit where another refuses, and releases the permit alone": async (
    app,
  ) => {
    const { jobs, isFree } = oneAtOnce();
    const rate = limiter(gcra({ limit: 2, period: "1h", burst: 2, name: "rate" }));
    const others = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), {
      store: jobs.store,
      prefix: "rate",
    });
    for (const api of [rate, others]) {
      const limits = [{ limiter: jobs, key }, { limiter: api, key }];
      await app.serving({ limits }, async (port) => {
        const held = jobs.hold("one");
        assert.equal((await rawRequest(port)).status, 429);
        assert.equal(api.peek("one", 0).remaining, 2);
        held.permit!.release();
        for (let call = 0; call < 2; call++) {
          assert.equal((await rawRequest(port)).status, 200);
          await until(isFree);
        }
        assert.equal((await rawRequest(port)).status, 429);
        assert.deepEqual([isFree(), api.peek("one", 0).remaining], [true, 0]);
      });
    }
  },

  "holds a permit of a limiter that is chosen for the request, and none at a cost of 0": async (
    app,
  ) => {
    const { jobs, isFree } = oneAtOnce();
    let cost = 1;
    await app.serving({ limiter: () => jobs, key, cost: () => cost }, async (port) => {
      assert.equal((await rawRequest(port)).status, 200);
      await until(isFree);
      const held = jobs.hold("one");
      assert.equal((await rawRequest(port)).status, 429);
      cost = 0;
      assert.equal((await rawRequest(port)).status, 200);
      held.permit!.release();
      assert.equal(isFree(), true);
    });
  },

  "releases permits in the shadow, where nobody is refused": async (app) => {
    const { jobs, isFree } = oneAtOnce();
    await app.serving({ limiter: jobs, key, shadow: true }, async (port) => {
      assert.equal((await rawRequest(port)).status, 200);
      await until(isFree);
      const held = jobs.hold("one");
      assert.equal((await rawRequest(port)).status, 200);
      held.permit!.release();
      await until(isFree);
    });
  },
};

/** A client that hangs up when its permit is held. */
async function hangsUp(app: AppOf, path: "/stream" | "/slow"): Promise<void> {
  const { jobs, isFree } = oneAtOnce();
  const hooks = {
    flow: () => new Promise<void>((resolve) => setTimeout(resolve, 50)),
    slow: (whenGone: (listener: () => void) => void, end: (fails: boolean) => void) =>
      whenGone(() => end(false)),
  };
  await app.serving({ limiter: jobs, key }, async (port) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    socket.write(request(path));
    if (path === "/stream") await new Promise((resolve) => socket.once("data", resolve));
    else await until(() => !isFree());
    socket.destroy();
    await until(isFree);
  }, hooks);
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
