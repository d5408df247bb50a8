/*
 * Logins from which nobody can lock somebody else out. Three wrong passwords for an account from one
 * address lock that address out of that account: for a minute, then five, fifteen, and an hour. An
 * address has twenty tries an hour for all accounts. An account has thirty tries an hour from
 * addresses that have never logged in to it. The owner's own addresses do not share these.
 *
 * A try is one decision with one receipt. A right password gives the units of that receipt back, and
 * no units that others took while the password was compared. The receipt of a wrong one just ends.
 *
 *   bun examples/login.ts
 */
import { fixedWindow, limiter, memoryStore, type Store } from "tidegate";
import { addressKey } from "tidegate/http";
import { type Descriptor, ruleEngine, type RuleFile } from "tidegate/rules";

/** No password takes longer to compare. */
const SETTLED = { reservable: true, within: "1m" } as const;

const RULES: RuleFile = {
  domain: "login",
  rules: [
    {
      key: "pair",
      limits: [
        {
          ...SETTLED,
          algorithm: "lockout",
          limit: 3,
          period: "10m",
          lock: ["1m", "5m", "15m", "1h"],
          forget: "1d",
        },
      ],
    },
    {
      key: "address",
      limits: [{ ...SETTLED, algorithm: "lockout", limit: 20, period: "1h", lock: "1h" }],
    },
    { key: "account", limits: [{ ...SETTLED, limit: 30, period: "1h", burst: 10 }] },
  ],
};

/** The passwords of the accounts. A real program keeps them hashed, in a database. */
const PASSWORDS = new Map([["ada", "lovelace"], ["bob", "secret"]]);

/** Compares a password. A real program compares a hash, which takes a tenth of a second. */
function isRight(account: string, password: string): Promise<boolean> {
  return Promise.resolve(PASSWORDS.get(account) === password);
}

/** Logs in. The answer tells an attacker who guesses no more than a user who mistypes. */
export function loginOn(store: Store, clock?: () => number) {
  const engine = ruleEngine({ rules: RULES, store, prefix: "login", clock });
  // Remember for 30 days the addresses from which an account has logged in.
  const known = limiter(fixedWindow({ limit: 1, period: "30d", anchor: "first" }), {
    store,
    prefix: "login:known",
    clock,
  });
  return async function login(user: string, password: string, ip: string): Promise<string> {
    const account = user.toLowerCase();
    const address = addressKey(ip) ?? "unknown"; // an IPv6 client commands a whole network
    const key = `${address} ${account}`;
    const pair: Descriptor = { entries: [["pair", key]] };
    const isKnown = (await known.peek(key, 0)).remaining === 0;
    // Decide before the password is compared, so that no more of many guesses at once than the limit
    // count.
    const { verdict, receipt } = await engine.reserve({
      domain: "login",
      descriptors: [
        pair,
        { entries: [["address", address]] },
        ...(isKnown ? [] : [{ entries: [["account", account]] } as const]),
      ],
    });
    if (receipt === undefined) {
      return `again in ${Math.ceil((verdict.decision?.retryAfter ?? 0) / 60_000)} min`;
    }
    if (!await isRight(account, password)) return "wrong user or password";
    // Forget the tries of the pair. Keep the tries of the address for other users. Otherwise the owner
    // of one account could guess the passwords of all others.
    await engine.release(receipt);
    await engine.reset({ domain: "login", descriptors: [pair] });
    await known.consume(key);
    return `welcome, ${user}`;
  };
}

if (import.meta.main) {
  const login = loginOn(memoryStore());
  const attempts = [
    ["ada", "lovelance"],
    ["ada", "lovelace"],
    ["bob", "123456"],
    ["bob", "password"],
    ["bob", "qwerty"],
    ["bob", "secret"],
    ["ada", "lovelace"],
  ] as const;
  for (const [user, password] of attempts) {
    console.log(`${user}: ${await login(user, password, "192.0.2.7")}`);
  }
}
