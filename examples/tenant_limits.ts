/*
 * Tenants with limits of their own, from a database. A tenant's row is read at its first call, and
 * remembered for a minute. A tenant without a row gets the default. A changed limit keeps its use.
 *
 *   bun examples/tenant_limits.ts
 */
import { DatabaseSync } from "node:sqlite";
import { type KeyLookup, ruleEngine } from "tidegate/rules";

const database = new DatabaseSync(":memory:");
database.exec(`
  CREATE TABLE tenants (name TEXT PRIMARY KEY, per_minute INTEGER NOT NULL);
  INSERT INTO tenants VALUES ('acme', 5), ('evil', 0);
`);
const select = database.prepare("SELECT per_minute FROM tenants WHERE name = ?");

/** Looks up a key's own limits. The key is the rule's key and its value: "tenant=acme". */
const lookup: KeyLookup = (_domain, key) => {
  const row = select.get(key.slice("tenant=".length));
  if (row === undefined) return Promise.resolve(undefined);
  const limit = Number(row["per_minute"]);
  return Promise.resolve(limit > 0 ? [{ limit, period: "1m", burst: limit }] : "blocked");
};

const engine = ruleEngine({
  rules: {
    domain: "api",
    rules: [{ key: "tenant", lookup: "wait", limits: [{ limit: 2, period: "1m", burst: 2 }] }],
  },
  lookup,
});

async function call(tenant: string): Promise<string> {
  const descriptors = [{ entries: [["tenant", tenant]] }] as const;
  const { allowed, decision } = await engine.consume({ domain: "api", descriptors });
  return `${allowed ? "ok" : "refused"}, ${decision?.remaining ?? 0} left`;
}

for (const tenant of ["acme", "unknown", "evil"]) console.log(`${tenant}: ${await call(tenant)}`);

database.exec("UPDATE tenants SET per_minute = 100 WHERE name = 'acme'");
engine.forgetLookups();
console.log(`acme upgraded: ${await call("acme")}`);
