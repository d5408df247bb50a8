import fc from "fast-check";
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, test } from "node:test";

import { addressKey, clientAddress } from "../../../adapters/http.ts";
import { formatAddress, parseAddress } from "../../../adapters/http/ip_address.ts";
import { trustedProxies } from "../../../adapters/http/trusted_proxies.ts";
import { fcOptions } from "../../support/seed.ts";
import vectors from "../../vectors/client_ip.json" with { type: "json" };

describe("the key of an address of the vector", () => {
  for (const { input, key64, key56 } of vectors.normalise) {
    test(JSON.stringify(input), () => {
      assert.equal(addressKey(input), key64 ?? undefined);
      assert.equal(addressKey(input, 56), key56 ?? undefined);
    });
  }
});

describe("the client of the vector", () => {
  for (const { name, peer, xff, trusted, expect } of vectors.forwarded) {
    test(name, () => {
      assert.equal(clientAddress({ trustedProxies: trusted })(peer, xff), expect);
    });
    test(`${name}, in Forwarded`, () => {
      const elements = xff.split(", ").map((hop) =>
        hop.includes(":")
          ? `for="${hop.includes("::") ? `[${hop}]` : hop}"`
          : `FOR=${hop};proto=http`
      );
      const options = { trustedProxies: trusted, forwardedHeader: "Forwarded" };
      assert.equal(clientAddress(options)(peer, elements.join(",")), expect);
    });
  }
});

describe("the client behind a trusted proxy", () => {
  const list = (field: string) =>
    clientAddress({ trustedProxies: ["10.0.0.0/8"] })("10.0.0.1", field);
  const forwarded = (field: string) =>
    clientAddress({ trustedProxies: ["10.0.0.0/8"], forwardedHeader: "forwarded" })(
      "10.0.0.1",
      field,
    );

  test("is found whatever a client has put before", () => {
    for (const forged of ['for="', 'for="\\', '"', ",,,", 'for=10.0.0.9;for=10.0.0.8;"', "\0"]) {
      assert.equal(forwarded(`${forged}, for=203.0.113.7`), "203.0.113.7");
      assert.equal(list(`${forged}, 203.0.113.7`), "203.0.113.7");
    }
  });

  test("is the proxy if the entry is no address", () => {
    for (const entry of ["", "unknown", "_hidden", "203.0.113.7.", "999.1.1.1", "10.0.0.2 x"]) {
      assert.equal(list(`203.0.113.7, ${entry}`), "10.0.0.1");
      assert.equal(forwarded(`for=203.0.113.7, for=${entry}`), "10.0.0.1");
    }
    assert.equal(forwarded("for=203.0.113.7, by=10.0.0.2"), "10.0.0.1");
    assert.equal(forwarded("for=203.0.113.7;for=203.0.113.8"), "10.0.0.1");
  });

  test("is looked for in 32 entries and 4,096 characters", () => {
    const proxies = Array(31).fill("10.0.0.2").join(", ");
    assert.equal(list(`203.0.113.7, ${proxies}`), "203.0.113.7");
    assert.equal(list(`203.0.113.7, 10.0.0.3, ${proxies}`), "10.0.0.3");
    assert.equal(list(`203.0.113.7,${" ".repeat(4_096)}`), "10.0.0.1");
    assert.equal(list(`203.0.113.7${" ".repeat(4_090)},10.0.0.4`), "10.0.0.4");
    assert.equal(forwarded(`for=203.0.113.7${" ".repeat(4_090)},for=10.0.0.4`), "10.0.0.4");
  });
});

describe("trusted proxies", () => {
  const trusts = (list: string[], address: string) => trustedProxies(list)(parseAddress(address)!);

  test("are named, single or in networks", () => {
    assert.equal(trusts(["loopback"], "127.1.2.3"), true);
    assert.equal(trusts(["loopback"], "::1"), true);
    assert.equal(trusts(["loopback"], "::2"), false);
    assert.equal(trusts(["uniquelocal"], "172.31.255.255"), true);
    assert.equal(trusts(["uniquelocal"], "172.32.0.0"), false);
    assert.equal(trusts(["uniquelocal"], "fd00::1"), true);
    assert.equal(trusts(["linklocal"], "fe80::1%eth0"), true);
    assert.equal(trusts(["192.0.2.7"], "::ffff:c000:207"), true);
    assert.equal(trusts(["192.0.2.7"], "192.0.2.8"), false);
    assert.equal(trusts(["::ffff:192.0.2.0/120"], "192.0.2.8"), true);
    assert.equal(trusts(["2001:db8::/33"], "2001:db8:7fff::1"), true);
    assert.equal(trusts(["2001:db8::/33"], "2001:db8:8000::1"), false);
  });

  test("of IPv6 are none of IPv4, and the other way round", () => {
    assert.equal(trusts(["::/0"], "192.0.2.7"), false);
    assert.equal(trusts(["0.0.0.0/0"], "::1"), false);
    assert.equal(trusts(["0.0.0.0/0"], "192.0.2.7"), true);
  });

  test("must be addresses or networks", () => {
    for (const bad of ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "::/129", "all", "", "1.2.3"]) {
      assert.throws(() => trustedProxies([bad]), TypeError);
    }
    for (const bad of ["10.0.0.0/8/8", "::ffff:0:0/95", "[::1]", "fe80::1%eth0", 7, null]) {
      assert.throws(() => trustedProxies([bad as string]), TypeError);
    }
    assert.throws(() => trustedProxies("10.0.0.0/8" as never), TypeError);
  });
});

describe("any address", () => {
  test("reads the same in every spelling", () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    const groups = fc.array(group, { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (groups) => {
        const spelled = groups.map((group) => group.toString(16).toUpperCase().padStart(4, "0"));
        const address = parseAddress(spelled.join(":"))!;
        assert.deepEqual(address, groups);
        assert.deepEqual(parseAddress(formatAddress(address)), groups);
        const canonical = new URL(`http://[${spelled.join(":")}]/`).hostname.slice(1, -1);
        if (!canonical.startsWith("::ffff:")) assert.equal(formatAddress(address), canonical);
      }),
      fcOptions({ numRuns: 500 }),
    );
    fc.assert(
      fc.property(fc.ipV4(), (text) => {
        assert.equal(formatAddress(parseAddress(text)!), text);
        assert.equal(addressKey(`::ffff:${text}`), text);
        assert.equal(addressKey(`${text}:8080`), text);
      }),
      fcOptions({ numRuns: 500 }),
    );
  });

  test("is one for us only if it is one for node:net", () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom(..."0123456789abcdef:.") }),
      fc.ipV6(),
      fc.ipV4Extended(),
      fc.string(),
    );
    fc.assert(
      fc.property(text, (text) => {
        assert.equal(
          parseAddress(text) !== undefined && !/[%[]|\.\d+:\d/.test(text),
          isIP(text) > 0,
        );
      }),
      fcOptions({ numRuns: 2_000 }),
    );
  });
});

/*
 * An independent reading: the hops that a forged field cannot touch are those right of the last
 * untrusted one.
 */
describe("no forged field", () => {
  const hop = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom("10.0.0.5", "10.9.9.9", "[fd00::1]:80", "10.0.0.7:80", "unknown", '"', "\\"),
    fc.string({ maxLength: 12 }),
  );
  const trusted = ["10.0.0.0/8", "fd00::/8"];
  const isTrusted = trustedProxies(trusted);
  const field = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.array(hop, { maxLength: 40 }).map((hops) => hops.join(", ")),
    fc.array(hop, { maxLength: 40 }).map((hops) => hops.map((hop) => `for="${hop}"`).join(",")),
  );

  for (const forwardedHeader of ["x-forwarded-for", "forwarded"]) {
    const addressOf = clientAddress({ trustedProxies: trusted, forwardedHeader });

    test(`makes ${forwardedHeader} believed from an untrusted peer`, () => {
      fc.assert(
        fc.property(field, (field) => {
          assert.equal(addressOf("198.51.100.9", field), "198.51.100.9");
        }),
        fcOptions({ numRuns: 500 }),
      );
    });

    test(`moves ${forwardedHeader} beyond the first untrusted hop`, () => {
      const wrap = (hop: string) => forwardedHeader === "forwarded" ? `for="${hop}"` : hop;
      const proxies = fc.array(fc.constantFrom("10.0.0.5", "10.1.1.1"), { maxLength: 5 });
      fc.assert(
        fc.property(field, proxies, (forged, proxies) => {
          const told = ["203.0.113.7", ...proxies].map(wrap).join(", ");
          assert.equal(addressOf("10.0.0.1", `${forged}, ${told}`), "203.0.113.7");
        }),
        fcOptions({ numRuns: 1_000 }),
      );
    });

    test(`makes ${forwardedHeader} throw, or answer anything but an address`, () => {
      fc.assert(
        fc.property(field, (field) => {
          const client = addressOf("10.0.0.1", field);
          assert.ok(client !== undefined && isIP(client) > 0);
        }),
        fcOptions({ numRuns: 2_000 }),
      );
    });
  }

  test("of X-Forwarded-For is read otherwise than by splitting it", () => {
    const addressOf = clientAddress({ trustedProxies: trusted });
    fc.assert(
      fc.property(field, (field) => {
        let expected = "10.0.0.1";
        for (const entry of field.split(",").reverse().slice(0, 32)) {
          const address = parseAddress(entry.trim());
          if (address === undefined || field === "") break;
          expected = formatAddress(address);
          if (!isTrusted(address)) break;
        }
        assert.equal(addressOf("10.0.0.1", field), expected);
      }),
      fcOptions({ numRuns: 2_000 }),
    );
  });

  test("reaches a key that is not an address", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const key = addressKey(text);
        assert.ok(key === undefined || isIP(key.split("/")[0]!) > 0);
      }),
      fcOptions({ numRuns: 1_000 }),
    );
  });
});

test("the prefix of IPv6 must still tell clients apart", () => {
  for (const prefix of [0, 31, 129, 64.5, NaN]) {
    assert.throws(() => addressKey("::1", prefix), RangeError);
  }
});
