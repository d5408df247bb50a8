/*
 * A client that throws at one place, at each in turn. Every call is settled all the same, what was
 * admitted was charged, and nothing ends the process. The clients are stand-ins over a fake server in
 * memory, because real ones cannot be made to throw everywhere.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, test } from "node:test";

import { gcra, limiter, StoreUnavailableError } from "../../../../mod.ts";
import { type RedisClient, redisStore } from "../../../../stores/redis/redis_store.ts";
import { keyspace } from "../../../support/fake_redis/keyspace.ts";
import { type ServerState, session } from "../../../support/fake_redis/session.ts";

const algorithm = gcra({ limit: 1, period: "1d", burst: 10 });

/** Where and how a stand-in fails. */
interface Plan {
  /** The place, counted from 0 over all that is read or called. */
  readonly at: number;
  readonly how: "throw" | "reject";
  /** The thrown value, which JavaScript lets be anything. */
  readonly thrown: unknown;
  /** How many places have been passed. */
  passed: number;
}

/** An object that fails as planned when a member of it is read, called or set. */
function failing<Target extends object>(target: Target, plan: Plan): Target {
  const wrapped = (value: unknown): unknown =>
    value instanceof Promise
      ? value.then(wrapped)
      : value !== null && typeof value === "object" && "isStandIn" in value
      ? failing(value, plan)
      : value;
  const isDue = () => plan.passed++ === plan.at;
  const proxy: Target = new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      // Neither is a member that a client has.
      if (typeof name === "symbol" || name === "then") return value;
      if (typeof value !== "function") {
        if (isDue()) throw plan.thrown;
        return value;
      }
      return function (this: unknown, ...given: unknown[]): unknown {
        if (!isDue()) return wrapped(value.apply(this === proxy ? target : this, given));
        if (plan.how === "reject") return Promise.reject(plan.thrown);
        throw plan.thrown;
      };
    },
    set(_, name, value) {
      if (isDue()) throw plan.thrown;
      return Reflect.set(target, name, value);
    },
  });
  return proxy;
}

/** Members of clients of every kind, on a connection to a server in memory. */
function ownClient(state: ServerState) {
  const { run } = session(state);
  const client = {
    isStandIn: true,
    isReady: false,
    connected: false,
    status: "wait",
    options: {},
    onconnect: () => {},
    onclose: () => {},
    on() {},
    connect() {
      Object.assign(client, { isReady: true, connected: true, status: "ready" });
      return Promise.resolve();
    },
    sendCommand(command: readonly string[]) {
      const reply = client.isReady ? run(command) : new Error("The client is closed");
      return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
    },
    call: (...command: string[]) => client.sendCommand(command),
    send: (name: string, rest: readonly string[]) => client.sendCommand([name, ...rest]),
    duplicate: () => ownClient(state),
    disconnect: () => client.destroy(),
    close: () => client.destroy(),
    destroy() {
      Object.assign(client, { isReady: false, connected: false, status: "end" });
    },
  };
  return client;
}

/** The members of a client that make it one of a kind. */
function having(state: ServerState, ...names: readonly string[]): object {
  const client = ownClient(state);
  for (const name of Object.keys(client)) {
    if (!names.includes(name) && name !== "isStandIn") Reflect.deleteProperty(client, name);
  }
  return client;
}

/** Works like `duplicate` of node-redis: it hands options to its object's constructor. */
function duplicateOf(options: object, make: () => object) {
  return function (this: object, overrides?: object): object {
    const { constructor } = Object.getPrototypeOf(this);
    return constructor === Object ? make() : new constructor({ ...options, ...overrides });
  };
}

/** A client of each kind. */
const KINDS: Readonly<Record<string, (state: ServerState, plan: Plan) => object>> = {
  "a client of node-redis": (state) =>
    having(state, "options", "isReady", "sendCommand", "duplicate"),
  "a pool of node-redis": (state) => ({
    totalClients: 1,
    execute: async (use: (client: object) => unknown) => await use(ownClient(state)),
  }),
  "a cluster of node-redis": (state, plan) => ({
    getSlotRandomNode() {},
    duplicate: duplicateOf({ rootNodes: [{ url: "redis://127.0.0.1:1" }] }, () => ({
      isStandIn: true,
      on() {},
      nodeClient(place: { client: ReturnType<typeof ownClient> }) {
        place.client = failing(ownClient(state), plan);
        return place.client.connect();
      },
    })),
  }),
  "a sentinel of node-redis": (state) => ({
    getMasterNode() {},
    _execute() {},
    duplicate: duplicateOf({ sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] }, () => ({
      isStandIn: true,
      on() {},
      connect: () => Promise.resolve(),
      _execute: async (_: boolean, use: (client: object) => unknown) => await use(ownClient(state)),
      destroy() {},
    })),
  }),
  "a sentinel of node-redis 5": (state) => ({
    getMasterNode() {},
    _execute: async (_: boolean, use: (client: object) => unknown) => await use(ownClient(state)),
  }),
  "a client of ioredis": (state) => having(state, "status", "call", "sendCommand", "duplicate"),
  "a cluster of ioredis": (state) => ({
    startupNodes: [{ host: "127.0.0.1", port: 1 }],
    natMapper: () => ({ host: "127.0.0.1", port: 1 }),
    duplicate: () => ({
      isStandIn: true,
      connectionPool: { isStandIn: true, findOrCreate: () => ownClient(state) },
    }),
  }),
  "a client of Bun": (state) =>
    having(state, "onclose", "connect", "connected", "send", "duplicate"),
  "a sender": (state) => ({
    send: async (commands: readonly (readonly string[])[]) => {
      const client = ownClient(state);
      await client.connect();
      return Promise.all(
        commands.map((command) => client.sendCommand(command).catch((error) => error)),
      );
    },
  }),
};

const NO_FAULT: Plan = { at: -1, how: "throw", thrown: undefined, passed: 0 };

describe("a client that throws leaves no call without an answer:", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  before(() => void process.on("unhandledRejection", note));
  after(() => void process.off("unhandledRejection", note));

  for (const [kind, make] of Object.entries(KINDS)) {
    for (const commit of ["watch", "cas", "script"] as const) {
      if (kind === "a sender" && commit === "watch") continue;

      test(`${kind}, by ${commit}`, async () => {
        const places = await settlesAll(make, commit, NO_FAULT);
        assert.ok(places >= 2, `${places} places`);
        for (let at = 0; at < places; at++) {
          const thrown = at % 2 === 0 ? undefined : new Error("thrown by the stand-in");
          for (const how of ["throw", "reject"] as const) {
            await settlesAll(make, commit, { at, how, thrown });
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
        assert.deepEqual(unhandled, []);
      });
    }
  }
});

/** Has calls settled by a client that fails as planned; how many places it has passed. */
async function settlesAll(
  make: (typeof KINDS)[string],
  commit: "watch" | "cas" | "script",
  given: Omit<Plan, "passed">,
): Promise<number> {
  const plan = { ...given, passed: 0 };
  const state: ServerState = {
    keyspace: keyspace(Date.now),
    now: Date.now,
    scripts: new Set(),
    password: undefined,
    version: "7.0.15",
    slots: [[0, 16_383, ["127.0.0.1", 1, "id"]]],
    elsewhere: () => undefined,
  };
  const where = `at ${plan.at} by ${plan.how}`;
  let admitted = 0;
  let unknown = 0;
  try {
    const store = redisStore(failing(make(state, plan), plan) as RedisClient, {
      commit,
      onOutage() {},
    });
    const api = limiter(algorithm, { store, prefix: "api" });
    for (let round = 0; round < 2; round++) {
      const calls = [api.consume("a"), api.consume("b", 2), api.consume("a")];
      for (const [index, end] of (await Promise.allSettled(calls)).entries()) {
        const cost = index === 1 ? 2 : 1;
        if (end.status === "fulfilled") admitted += cost;
        else {
          assert.ok(end.reason instanceof StoreUnavailableError, `${where}: ${end.reason}`);
          if (plan.at < 0) throw end.reason;
          if (end.reason.applied === "unknown") unknown += cost;
        }
      }
    }
    await store.close();
  } catch (error) {
    // A client that cannot even be looked at is refused when the store is made.
    if (plan.at < 0) throw error;
    assert.ok(error === plan.thrown || error instanceof TypeError, where);
  }
  if (plan.at < 0) assert.deepEqual([admitted, unknown], [8, 0]);
  const used = usedBy(state);
  assert.ok(used >= admitted && used <= admitted + unknown, `${where}: ${used} charged`);
  return plan.passed;
}

/** The units that the server knows of: a day each. */
function usedBy({ keyspace }: ServerState): number {
  const days = keyspace.keys().map((key) =>
    Math.round((parseInt(keyspace.get(key)!.slice(3)) - Date.now()) / 86_400_000)
  );
  return days.reduce((sum, units) => sum + units, 0);
}
