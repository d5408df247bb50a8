/*
 * Logins that nobody can lock for somebody else. Three wrong passwords for an account from one address
 * lock that address out of that account: for a minute, then five, fifteen, an hour. An address has
 * twenty tries an hour for all accounts. An account has thirty an hour from addresses that have never
 * logged in to it; those of its owner do not share them.
 *
 *   bun examples/login.ts
 */
import {
  consumeAll,
  fixedWindow,
  gcra,
  limiter,
  lockout,
  memoryStore,
  type SyncStore,
} from "tidegate";

/** As a database would have them, but for the hash. */
const PASSWORDS: Readonly<Record<string, string>> = { ada: "lovelace", bob: "secret" };

/** Logs in; the answer says no more to one who guesses than to one who mistypes. */
export function loginOn(store: SyncStore, clock?: () => number) {
  const locks = lockout({ limit: 3, period: "10m", lock: ["1m", "5m", "15m", "1h"], forget: "1d" });
  const guesses = limiter(locks, { store, prefix: "login:guess", clock });
  const addresses = limiter(lockout({ limit: 20, period: "1h", lock: "1h" }), {
    store,
    prefix: "login:address",
    clock,
  });
  const accounts = limiter(gcra({ limit: 30, period: "1h", burst: 10 }), {
    store,
    prefix: "login:account",
    clock,
  });
  // Remembers for 30 days from which addresses an account has logged in.
  const known = limiter(fixedWindow({ limit: 1, period: "30d", anchor: "first" }), {
    store,
    prefix: "login:known",
    clock,
  });
  return function login(user: string, password: string, address: string): string {
    const account = user.toLowerCase();
    const pair = `${address} ${account}`;
    const isKnown = known.peek(pair, 0).remaining === 0;
    // Before the password is looked at: of many guesses at once, no more than the limit count.
    const decision = consumeAll([
      { limiter: guesses, key: pair },
      { limiter: addresses, key: address },
      ...(isKnown ? [] : [{ limiter: accounts, key: account }]),
    ]);
    if (!decision.allowed) return `again in ${Math.ceil(decision.retryAfter / 60_000)} min`;
    if (PASSWORDS[user] !== password) return "wrong user or password";
    // It was right: the pair's tries are forgotten, and of the others this one. Those for other users
    // stay, or whoever has one account could guess at all the others. The refund comes at once, before
    // anybody else can have taken units; a later one would need a receipt.
    guesses.reset(pair);
    addresses.refund(address);
    if (!isKnown) accounts.refund(account);
    known.consume(pair);
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
