import assert from "node:assert/strict";
import { test } from "node:test";

import { type RedisOptions, serve } from "../../../adapters/service/service.ts";
import { memoryStore } from "../../../mod.ts";
import { inFolder } from "../../support/in_folder.ts";
import { oneRule, post, withService } from "./support/running.ts";

const asking = { entries: { user: "42" } };
const rules = oneRule("user", 10);

test("counters in a SQLite file survive a restart, and services share them", () =>
  inFolder(async (folder) => {
    const options = { rules, sqlite: { path: `${folder}/counters.db` } };
    let admitted = 0;
    const ask = async (service: { url: string }) => {
      if ((await post(service, "/v1/consume", asking)).body.allowed) admitted++;
    };
    await withService(async (service) => {
      for (let call = 0; call < 4; call++) await ask(service);
    }, options);
    await withService(async (service) => {
      await withService(async (other) => {
        for (let call = 0; call < 5; call++) await Promise.all([ask(service), ask(other)]);
      }, options);
    }, options);
    assert.equal(admitted, 10);
  }));

test("serve takes one place for its counters", async () => {
  const sqlite = { path: "counters.db" };
  await assert.rejects(async () => await serve({ rules, sqlite, store: memoryStore() }), {
    message: "Cannot serve because only one of store, redis, postgres and sqlite may be given",
  });
  await assert.rejects(async () => await serve({ rules, sqlite: { path: "" } }), {
    message: /sqlite must be the path of a file/,
  });
  await assert.rejects(async () => await serve({ rules, redis: { url: "me:secret@localhost" } }), {
    message:
      /^Cannot serve as redis must have a url, redis:..\.\.\.: current value is "another text"$/,
  });
  const misspelled = { url: "redis://localhost", onUnavailible: "allow" } as RedisOptions;
  await assert.rejects(async () => await serve({ rules, redis: misspelled }), {
    message: /onUnavailible/,
  });
  await assert.rejects(async () => await serve({ rules, postgres: { url: "localhost" } }), {
    message: /postgres must have a url, postgres:..\.\.\.: /,
  });
});
