/*
 * Logins: three wrong passwords in ten minutes lock a user for an hour, and twenty tries in an hour an
 * address, whoever they are for. Both at once, all or nothing.
 *
 *   bun examples/login.ts
 */
import { consumeAll, limiter, lockout, memoryStore, type SyncStore } from "tidegate";

/** As a database would have them, but for the hash. */
const PASSWORDS: Readonly<Record<string, string>> = { ada: "lovelace", bob: "secret" };

/** Logs in; the answer says no more to one who guesses than to one who mistypes. */
export function loginOn(store: SyncStore, clock?: () => number) {
  const users = limiter(lockout({ limit: 3, period: "10m", lock: "1h" }), {
    store,
    prefix: "login:user",
    clock,
  });
  const addresses = limiter(lockout({ limit: 20, period: "1h", lock: "1h" }), {
    store,
    prefix: "login:address",
    clock,
  });
  return function login(user: string, password: string, address: string): string {
    // Before the password is looked at: of many guesses at once, no more than the limit count.
    const decision = consumeAll([
      { limiter: users, key: user.toLowerCase() },
      { limiter: addresses, key: address },
    ]);
    if (!decision.allowed) return `again in ${Math.ceil(decision.retryAfter / 60_000)} minutes`;
    if (PASSWORDS[user] !== password) return "wrong user or password";
    // It was right: the user's tries are forgotten, and of the address's this one. Those for other
    // users stay, or whoever has one account could guess at all the others.
    users.reset(user.toLowerCase());
    addresses.refund(address);
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
    console.log(`${user}: ${login(user, password, "192.0.2.7")}`);
  }
}
