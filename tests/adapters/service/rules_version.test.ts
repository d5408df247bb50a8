import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { fileSource } from "../../../adapters/rules/rules.ts";
import { inFolder } from "../../support/in_folder.ts";
import { get, until, withService } from "./support/running.ts";

const rule = (key: string) => `  - { key: ${key}, limits: [{ limit: 1, period: 1h, burst: 1 }] }\n`;
const SHORT = `domain: shop\nrules:\n${rule("a")}`;
const LONG = SHORT + rule("b");
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

test("rules are rolled back by a new file and by SIGHUP, and readyz says so", () =>
  inFolder((folder) => {
    const file = join(folder, "rules.yaml");
    writeFileSync(file, LONG);
    return withService(async (service) => {
      const inForce = async (text: string) => {
        const { body } = await get(service, "/readyz");
        return body.startsWith(`ready\nrules ${hashOf(text)} since `);
      };
      assert.ok(await inForce(LONG));
      // A new inode, as by an atomic rename.
      writeFileSync(`${file}.new`, SHORT);
      renameSync(`${file}.new`, file);
      await until(() => inForce(SHORT));
      writeFileSync(file, LONG);
      await until(() => inForce(LONG));
      // Written in place it may be cut off, until somebody says that it is meant.
      writeFileSync(file, SHORT);
      await until(async () =>
        (await get(service, "/v1/live")).body.loaded.reason.includes("cut off")
      );
      assert.ok(await inForce(LONG));
      assert.equal(await service.reload(), true);
      await until(() => inForce(SHORT));
      const { loaded } = (await get(service, "/v1/live")).body;
      assert.deepEqual([loaded.version, loaded.rules], [hashOf(SHORT), 1]);
      const { body: metrics } = await get(service, "/metrics");
      assert.match(
        metrics,
        new RegExp(`tidegate_rules_info\\{version="${hashOf(SHORT)}"\\} 1\n`),
      );
    }, { rules: fileSource(file, { pollEvery: 50, settle: 10 }) });
  }));
