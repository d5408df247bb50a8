import { createHash } from "node:crypto";
import {
  COMPARE_AND_SET,
  COMPARE_AND_SET_SHA,
} from "../../../stores/redis/commit/compare_and_set.ts";
import { countsOf, takeSteps } from "./run_steps.ts";
import type { Formula } from "../../../core/algorithm.ts";
import { emptyCell, encodeCell, isReplaced, loadCell } from "../../../stores/stepping/cell.ts";
import { TAKE } from "../../../stores/redis/script/words.ts";
import {
  STATE_TRANSITIONS,
  STATE_TRANSITIONS_SHA,
} from "../../../stores/redis/script/state_transitions.ts";
import {
  claimsOfOthers,
  claimText,
  isClaimed,
  partClaims,
} from "../../../stores/redis/commit/claims.ts";
import type { Keyspace } from "./keyspace.ts";
import type { Reply } from "./resp.ts";

/** The state of a fake server: its keys, and all else that sessions share. */
export interface ServerState {
  readonly keyspace: Keyspace;
  readonly now: () => number;
  /** The script texts that it has seen, by their SHA-1. */
  readonly scripts: Set<string>;
  /** The password that it requires; `undefined` for none. */
  password: string | undefined;
  /** The version that it says it has. */
  version: string;
  /** Its reply to CLUSTER SLOTS; `undefined` if it is in no cluster. */
  slots: Reply | undefined;
  /** The error to a command whose keys are on another node of its cluster. */
  elsewhere: (command: readonly string[]) => Error | undefined;
}

/** One connection to the fake server. */
export interface Session {
  /** 3 after HELLO 3. */
  protocol: 2 | 3;
  /** Carries out a command. */
  run(command: readonly string[]): Reply;
  /** Refuses a command; the transaction that it would have been part of is broken. */
  refuse(error: Error): Reply;
}

const OK = "OK";

/** The names of the scripts that it understands, by their texts. */
const SHA_OF: Readonly<Record<string, string>> = {
  [COMPARE_AND_SET]: COMPARE_AND_SET_SHA,
  [STATE_TRANSITIONS]: STATE_TRANSITIONS_SHA,
};

/** Makes the state of one connection. */
export function session(state: ServerState): Session {
  const { keyspace } = state;
  const watched = new Map<string, number>();
  let queued: (readonly string[])[] | undefined;
  let broken = false;
  let authenticated = false;

  const made: Session = { protocol: 2, run, refuse };
  return made;

  function refuse(error: Error): Reply {
    if (queued !== undefined) broken = true;
    return error;
  }

  function run(command: readonly string[]): Reply {
    const name = command[0]!.toUpperCase();
    if (state.password !== undefined && !authenticated && !["HELLO", "AUTH"].includes(name)) {
      return new Error("NOAUTH Authentication required.");
    }
    if (queued !== undefined && name !== "EXEC") {
      queued.push(command);
      return "QUEUED";
    }
    return carryOut(name, command.slice(1));
  }

  function carryOut(name: string, args: readonly string[]): Reply {
    switch (name) {
      case "HELLO":
        return hello(args);
      case "AUTH":
        return authenticate(args.at(-1)!);
      case "PING":
        return "PONG";
      case "CLIENT":
        return args[0]?.toUpperCase() === "SETINFO" ? OK : new Error("ERR unknown subcommand");
      case "SELECT":
      case "ASKING":
        return OK;
      case "INFO":
        return `# Server\r\nredis_version:${state.version}\r\n`;
      case "CLUSTER":
        return state.slots ?? new Error("ERR This instance has cluster support disabled");
      case "TIME": {
        const now = state.now();
        return [String(Math.floor(now / 1_000)), String(Math.floor((now % 1_000) * 1_000))];
      }
      case "MGET":
        return args.map((key) => keyspace.get(key));
      case "SET":
        return set(args);
      case "APPEND": {
        const text = (keyspace.get(args[0]!) ?? "") + args[1]!;
        keyspace.replace(args[0]!, text);
        return text.length;
      }
      case "DEL":
        return args.filter((key) => keyspace.delete(key)).length;
      case "WATCH":
        for (const key of args) watched.set(key, keyspace.version(key));
        return OK;
      case "UNWATCH":
        watched.clear();
        return OK;
      case "MULTI":
        queued = [];
        return OK;
      case "EXEC":
        return exec();
      case "EVAL":
        return runScript(SHA_OF[args[0]!] ?? "", args.slice(1), true);
      case "EVALSHA":
        return runScript(args[0]!, args.slice(1), false);
      default:
        return new Error(`ERR unknown command '${name}'`);
    }
  }

  function hello(args: readonly string[]): Reply {
    const at = args.findIndex((word) => word.toUpperCase() === "AUTH");
    if (at !== -1) {
      const reply = authenticate(args[at + 2]!);
      if (reply !== OK) return reply;
    } else if (state.password !== undefined) {
      return new Error("NOAUTH HELLO must be called with the client already authenticated.");
    }
    made.protocol = args[0] === "3" ? 3 : 2;
    return { pairs: [["server", "redis"], ["version", state.version], ["proto", made.protocol]] };
  }

  function authenticate(password: string): Reply {
    if (password !== state.password) {
      return new Error("WRONGPASS invalid username-password pair or user is disabled.");
    }
    authenticated = true;
    return OK;
  }

  function set([key = "", text = "", option, life]: readonly string[]): Reply {
    if (option === "KEEPTTL") keyspace.replace(key, text);
    else keyspace.set(key, text, option === "PX" ? Number(life) : undefined);
    return OK;
  }

  function exec(): Reply {
    if (queued === undefined) return new Error("ERR EXEC without MULTI");
    const commands = queued;
    const touched = [...watched].some(([key, version]) => keyspace.version(key) !== version);
    const aborted = broken;
    endTransaction();
    if (aborted) return new Error("EXECABORT Transaction discarded because of previous errors.");
    if (touched) return null;
    return commands.map(([name = "", ...args]) => carryOut(name.toUpperCase(), args));
  }

  function endTransaction(): void {
    queued = undefined;
    broken = false;
    watched.clear();
  }

  function runScript(sha: string, args: readonly string[], byText: boolean): Reply {
    if (byText) state.scripts.add(sha);
    else if (!state.scripts.has(sha)) {
      return new Error("NOSCRIPT No matching script. Please use EVAL.");
    }
    if (sha === COMPARE_AND_SET_SHA) return compareAndSet(args);
    return sha === STATE_TRANSITIONS_SHA ? runSteps(args) : new Error("ERR unknown script");
  }

  /** Does the work of the other script: see run_steps.ts. */
  function runSteps([count = "0", ...rest]: readonly string[]): Reply {
    const time = carryOut("TIME", []) as readonly string[];
    const keys = rest.slice(0, Number(count));
    if (keys.length === 0) return time;
    const [given = "", first = "", times, ...formula] = rest.slice(keys.length);
    const now = Number(given) < 0
      ? Math.floor(Number(time[0]) * 1_000 + Number(time[1]) / 1_000)
      : Number(given);
    const cells = keys.map((key, index) => {
      const cell = emptyCell(key, index);
      loadCell(cell, keyspace.get(key), undefined);
      return cell;
    });
    if (times === undefined) {
      const [formulas, ...steps] = JSON.parse(first);
      takeSteps(formulas, steps, cells, now);
    } else {
      const steps = countsOf(times).flatMap((count, key) => [TAKE, key, 0, Number(first), count]);
      takeSteps(
        [formula.map((word, index) => index === 0 ? word : Number(word)) as Formula],
        steps,
        cells,
        now,
      );
    }
    for (const cell of cells) {
      encodeCell(cell, now);
      if (!isReplaced(cell)) continue;
      if (cell.next === undefined) keyspace.delete(cell.name);
      else keyspace.set(cell.name, cell.next, cell.lifetime);
    }
    return [...time, cells.map(({ held }) => held ?? null)];
  }

  /** Does the work of one script: see stores/redis/commit/compare_and_set.ts. */
  function compareAndSet([count = "0", ...rest]: readonly string[]): Reply {
    const keys = rest.slice(0, Number(count));
    const [sizes = "", owner = "", life = "", estimate = "", mostOff, ...values] = rest.slice(
      Number(count),
    );
    const replies: Reply[] = [...carryOut("TIME", []) as readonly Reply[]];
    const now = state.now();
    const isOff = estimate !== "" && Math.abs(Math.floor(now) - Number(estimate)) > Number(mostOff);
    const left = sizes.split(" ").map(Number);
    for (let index = 0; keys.length > 0; index++) {
      const group = keys.splice(0, sizes === "" ? 1 : left.shift()).map((key) => {
        const [old = "", next = "", life = ""] = values.splice(0, 3);
        const { text = "", claims } = partClaims(keyspace.get(key));
        const hash = old.startsWith("\0")
          ? `\0${createHash("sha1").update(text).digest("hex")}`
          : undefined;
        const held = keyspace.get(key) ?? "";
        return { key, held, text: hash ?? text, shown: hash ?? held, claims, old, next, life };
      });
      const same = !isOff &&
        group.every(({ text, claims, old }) => text === old && !isClaimed(claims, owner, now));
      for (const { key, claims, old, next, life } of same ? group : []) {
        const value = next + claimsOfOthers(claims, owner, now);
        if (next === old && !claims.includes(owner)) continue;
        if (value === "") keyspace.delete(key);
        else if (life === "") keyspace.replace(key, value);
        else keyspace.set(key, value, Number(life));
      }
      if (same) continue;
      replies.push(index, ...group.map(({ shown }) => shown));
      for (const { key, held, claims } of life === "" ? [] : group) {
        if (claims.includes(owner) && !isClaimed(claims, "", now)) continue;
        const claim = claimText(Math.floor(now) + Number(life), owner);
        if (held === "") keyspace.set(key, claim, Number(life));
        else keyspace.replace(key, held + claim);
      }
    }
    return replies;
  }
}
