import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import process from "node:process";

import { inFolder } from "../../support/in_folder.ts";
import { isLong } from "../../support/seed.ts";
import { needs } from "../../support/program.ts";
import { freePort } from "../../support/redis/free_port.ts";
import { rootPath } from "../../support/tree.ts";
import { startNginx } from "../service/support/proxies.ts";
import { spawned } from "./support/spawned.ts";

/** How many calls at least, and the milliseconds between two of one client. */
const [CALLS, PAUSE] = isLong() ? [10_000, 0] : [300, 30];

/** Starts a service, and waits until it listens. */
async function started(rules: string, port: number, delay = "200ms") {
  const options = ["--port", String(port), "--no-grpc", "--threads", "1", "--drain-delay", delay];
  const command = spawned("serve", rules, ...options);
  await command.says('"listening"');
  return command;
}

test(
  "no request is lost behind nginx while two services are restarted in turn",
  needs("nginx"),
  async () => {
    const rules = `${rootPath}examples/rules.yaml`;
    const ports = [await freePort(), await freePort()];
    const services = await Promise.all(ports.map((port) => started(rules, port)));
    const nginx = await startNginx(ports.map((port) => `http://127.0.0.1:${port}`));
    const statuses = new Map<number, number>();
    let calls = 0;
    let isRolling = true;
    const clients = Array.from({ length: 8 }, async () => {
      while (isRolling || calls < CALLS) {
        calls++;
        const { status, body } = await fetch(`${nginx.url}/shop`);
        await body?.cancel();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    });
    try {
      for (const [index, port] of ports.entries()) {
        const { child, ended } = services[index]!;
        process.kill(child.pid!, "SIGTERM");
        assert.equal(await ended, 0);
        services[index] = await started(rules, port);
      }
    } finally {
      isRolling = false;
      await Promise.all(clients);
      await nginx.stop();
      for (const { child, ended } of services) {
        process.kill(child.pid!, "SIGTERM");
        await ended;
      }
    }
    statuses.delete(200);
    statuses.delete(429);
    assert.deepEqual([...statuses], [], `of ${calls} calls`);
  },
);

test("SIGHUP has the rules read again, SIGTERM waits for the drain delay, and another signal ends that", () =>
  inFolder(async (folder) => {
    const file = join(folder, "rules.json");
    const write = (limit: number) => {
      const rules = [{ key: "user", limits: [{ limit, period: "1h", burst: limit }] }];
      writeFileSync(file, JSON.stringify({ domain: "shop", rules }));
    };
    write(1);
    const { child, ended, says, said } = await started(file, 0, "60m");
    writeFileSync(file, "{");
    process.kill(child.pid!, "SIGHUP");
    await says('"rules-refused"');
    write(2);
    process.kill(child.pid!, "SIGHUP");
    while (said().split('"rules-loaded"').length < 3) await says("");
    process.kill(child.pid!, "SIGTERM");
    await says('"stopping"');
    let isOver = false;
    void ended.then(() => isOver = true);
    while (!isOver) {
      process.kill(child.pid!, "SIGINT");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.notEqual(await ended, 0);
    assert.doesNotMatch(said(), /"stopped"/);
  }));
