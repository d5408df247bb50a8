import fc from "fast-check";
import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, test } from "node:test";

import { addressKey, clientAddress, clientKey } from "../../../../adapters/http/http.ts";
import { formatAddress, parseAddress } from "../../../../adapters/http/address/ip_address.ts";
import { trustedProxies } from "../../../../adapters/http/address/trusted_proxies.ts";
import { fcOptions } from "../../../support/seed.ts";
import vectors from "../../../vectors/client_ip.json" with { type: "json" };

const FIELD = "x-forwarded-for";

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
    // In the vector, a proxy that names nobody is the client. Here the client is then unknown.
    const client = xff.endsWith("unknown") ? undefined : expect;
    test(name, () => {
      assert.equal(clientAddress({ trustedProxies: trusted })(peer, xff), client);
    });
    test(`${name}, in Forwarded`, () => {
      const elements = xff.split(", ").map((hop) =>
        hop.includes(":")
          ? `for="${hop.includes("::") ? `[${hop}]` : hop}"`
          : `FOR=${hop};proto=http`
      );
      const options = { trustedProxies: trusted, forwardedHeader: "Forwarded" };
      assert.equal(clientAddress(options)(peer, elements.join(",")), client);
    });
  }
});

describe("the client behind a trusted proxy", () => {
  const list = (field?: string) =>
    clientAddress({ trustedProxies: ["10.0.0.0/8"] })("10.0.0.1", field);
  const forwarded = (field?: string) =>
    clientAddress({ trustedProxies: ["10.0.0.0/8"], forwardedHeader: "forwarded" })(
      "10.0.0.1",
      field,
    );

  test("is found whatever the client has put before it", () => {
    for (const forged of ['for="', 'for="\\', '"', ",,,", 'for=10.0.0.9;for=10.0.0.8;"', "\0"]) {
      assert.equal(forwarded(`${forged}, for=203.0.113.7`), "203.0.113.7");
      assert.equal(list(`${forged}, 203.0.113.7`), "203.0.113.7");
    }
  });

  test("is unknown if the proxy does not name an address", () => {
    for (
      const entry of [
        ...["", "unknown", "_hidden", "203.0.113.7.", "999.1.1.1", "10.0.0.2 x", "1.2.3.4:99999"],
        ...["[2001:db8::1]:65536", "[fe80::1%a%b]", "[2001:db8::1%]", "[2001:db8::1%a/b]"],
      ]
    ) {
      assert.equal(list(`203.0.113.7, ${entry}`), undefined, entry);
      assert.equal(list(`203.0.113.7, ${entry}, 10.0.0.2`), undefined, entry);
      assert.equal(forwarded(`for=203.0.113.7, for="${entry}"`), undefined, entry);
    }
    assert.equal(forwarded("for=203.0.113.7, for=unknown"), undefined);
    assert.equal(forwarded("for=203.0.113.7, by=10.0.0.2"), undefined);
    assert.equal(forwarded("for=203.0.113.7;for=203.0.113.8"), undefined);
    for (const missing of [undefined, "", " ", ",", " , "]) {
      assert.equal(list(missing), undefined);
      assert.equal(forwarded(missing), undefined);
    }
  });

  test("may have a port, also one without a number", () => {
    assert.equal(list("203.0.113.7:65535"), "203.0.113.7");
    assert.equal(list("[2001:db8::1]:0"), "2001:db8::1");
    assert.equal(forwarded('for="203.0.113.7:_web-1"'), "203.0.113.7");
  });

  test("is looked for in 32 entries and 4,096 characters", () => {
    const proxies = Array(31).fill("10.0.0.2").join(", ");
    const elements = proxies.replaceAll("10.", "for=10.");
    assert.equal(list(`203.0.113.7, ${proxies}`), "203.0.113.7");
    assert.equal(list(`203.0.113.7, 10.0.0.3, ${proxies}`), undefined);
    assert.equal(forwarded(`for=203.0.113.7, ${elements}`), "203.0.113.7");
    assert.equal(forwarded(`for=203.0.113.7, for=10.0.0.3, ${elements}`), undefined);
    assert.equal(list(`203.0.113.7,${" ".repeat(4_096)}`), undefined);
    assert.equal(list(`203.0.113.7${" ".repeat(4_090)},10.0.0.4`), undefined);
    assert.equal(forwarded(`for=203.0.113.7${" ".repeat(4_090)},for=10.0.0.4`), undefined);
    assert.equal(list(`1203.0.113.7${",10.0.0.4".repeat(9)}${" ".repeat(4_004)}`), undefined);
    assert.equal(list(`${"x".repeat(4_096)},203.0.113.7,10.0.0.4`), "203.0.113.7");
  });

  test("is not an address that a client has slipped into a value that the proxy repeats", () => {
    const forged = "for=6.6.6.6";
    assert.equal(forwarded(`by=10.0.0.2;host="a;${forged};b"`), undefined);
    assert.equal(forwarded(`by=10.0.0.2;host="a,${forged}"`), undefined);
    assert.equal(forwarded(`for=203.0.113.7;host="a;${forged};b"`), "203.0.113.7");
    // An escaped quote does not end the value, and so cannot hide the comma before the element.
    assert.equal(forwarded(`${forged};x=", for=203.0.113.7;host="a\\""`), "203.0.113.7");
    assert.equal(forwarded(`${forged};x=", for=203.0.113.7;host="a\\\\"`), "203.0.113.7");
  });
});

test("a field of spaces takes no longer than any other", () => {
  const trusting = { trustedProxies: ["10.0.0.0/8"], forwardedHeader: "forwarded" };
  const addressOf = clientAddress(trusting);
  const field = `for=203.0.113.7;${" ".repeat(4_000)}"`;
  // In quadratic time these would take half a minute, which no runner waits for.
  for (let call = 0; call < 2_000; call++) assert.equal(addressOf("10.0.0.1", field), undefined);
});

describe("the options of addresses", () => {
  test("name a field only together with proxies that are believed", () => {
    for (const forwardedHeader of ["forwarded", "x-forwarded-for"]) {
      assert.throws(
        () => clientAddress({ forwardedHeader }),
        /^TypeError: Cannot tell clients apart as forwardedHeader needs trustedProxies/,
      );
      assert.throws(() => clientKey({ forwardedHeader }), TypeError);
    }
    assert.equal(
      clientAddress({ forwardedHeader: "Forwarded", trustedProxies: [] })("192.0.2.7", "for=::1"),
      "192.0.2.7",
    );
  });

  test("name a field that there can be", () => {
    for (const forwardedHeader of ["", "x y", "x:y", "x\r\ny", 7, null]) {
      const options = { trustedProxies: ["loopback"], forwardedHeader: forwardedHeader as string };
      assert.throws(() => clientAddress(options), TypeError);
    }
  });
});

test("a probe from a trusted network has its own address, and one warning says so", () => {
  const keyOf = clientKey({ trustedProxies: ["loopback"] });
  const warnings: string[] = [];
  const warn = console.warn;
  console.warn = (text: string) => void warnings.push(text);
  try {
    const from = (hostname: string, headers = {}) =>
      keyOf(new Request("http://a.test/", { headers }), { remoteAddr: { hostname } });
    assert.equal(from("127.0.0.1", { [FIELD]: "203.0.113.7" }), "203.0.113.7");
    assert.deepEqual(warnings, []);
    assert.equal(from("127.0.0.1"), "127.0.0.1");
    assert.equal(from("127.0.0.1", { [FIELD]: "" }), "127.0.0.1");
    assert.equal(from("@"), undefined);
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0]!,
      /^A request from 127.0.0.1, which is trusted, has no x-forwarded-for/,
    );
  } finally {
    console.warn = warn;
  }
});

describe("trusted proxies", () => {
  const trusts = (list: string[], address: string) => trustedProxies(list)(parseAddress(address)!);

  const rows: [network: string, inside: string, outside: string][] = [
    ["loopback", "127.1.2.3 ::1", "::2 128.0.0.1"],
    ["uniquelocal", "172.31.255.255 fd00::1", "172.32.0.0"],
    ["linklocal", "fe80::1%eth0", "fe00::1"],
    ["192.0.2.7", "::ffff:c000:207", "192.0.2.8"],
    ["::ffff:192.0.2.0/120", "192.0.2.8", "192.0.3.8"],
    ["2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"],
    // No IPv6 network holds an IPv4 address, and the other way round.
    ["::/0", "::1", "192.0.2.7"],
    ["0.0.0.0/0", "192.0.2.7", "::1"],
  ];
  for (const [network, ...lists] of rows) {
    test(`in ${network} are ${lists[0]}, and not ${lists[1]}`, () => {
      const [inside, outside] = lists.map((list) =>
        list.split(" ").map((address) => trusts([network], address))
      );
      assert.ok(inside!.every(Boolean) && !outside!.some(Boolean));
    });
  }

  test("must be addresses or networks", () => {
    const bad = "10.0.0.0/33 10.0.0.0/ 10.0.0.0/08 ::/129 all 1.2.3 constructor 10.0.0.0/8/8 " +
      "::ffff:0:0/95 [::1] fe80::1%eth0 10.0.0.1:80";
    for (const entry of [...bad.split(" "), "", 7, null]) {
      assert.throws(() => trustedProxies([entry as string]), TypeError);
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
 * An independent reading: what a trusted proxy wrote is known, so the client is that of the first
 * element from the right that is no trusted proxy's, whatever a client put before and whatever
 * stands beside `for`.
 */
describe("no forged field", () => {
  const trusted = ["10.0.0.0/8", "fd00::/8"];
  const isTrusted = trustedProxies(trusted);
  const proxy = fc.constantFrom("10.0.0.5", "10.9.9.9", "[fd00::1]:80", "10.0.0.7:80", "fd00::2");
  const client = fc.oneof(fc.ipV4(), fc.ipV6());
  const nobody = fc.constantFrom("unknown", "_hidden", "", "203.0.113.7:99999", "[::1%a%b]");
  const hop = fc.oneof(proxy, client, nobody);
  const hostile = fc.string({ unit: fc.constantFrom(...'",;\\= \tfor10.2[]:%_a') });
  const anything = fc.oneof(
    hostile,
    fc.string({ maxLength: 200 }),
    fc.array(hop, { maxLength: 40 }).map((hops) => hops.join(", ")),
    fc.array(hop, { maxLength: 40 }).map((hops) => hops.map((hop) => `for="${hop}"`).join(",")),
  );

  /** A value of Forwarded in quotes, as a proxy writes what a client has chosen. */
  const quoted = hostile.map((text) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`);
  const pair = fc.oneof(fc.constant("proto=https"), quoted.map((text) => `host=${text}`));

  /** Header values that proxies write, each with the hop that it names. */
  const written = {
    [FIELD]: hop.map((hop) => ({ hop, text: hop })),
    forwarded: fc.tuple(fc.array(pair, { maxLength: 2 }), hop, fc.array(pair, { maxLength: 2 }))
      .map(([before, hop, after]) => ({
        hop,
        text: [...before, `for="${hop}"`, ...after].join(";"),
      })),
  };

  /** The client by the definition, from the right; "beyond" if it is further left. */
  function modelled(hops: readonly string[]): string | undefined {
    for (const hop of hops.toReversed()) {
      const address = parseAddress(hop);
      if (address === undefined) return undefined;
      if (!isTrusted(address)) return formatAddress(address);
    }
    return "beyond";
  }

  for (const [forwardedHeader, element] of Object.entries(written)) {
    const addressOf = clientAddress({ trustedProxies: trusted, forwardedHeader });

    test(`makes ${forwardedHeader} believed from an untrusted peer`, () => {
      fc.assert(
        fc.property(anything, (field) => {
          assert.equal(addressOf("198.51.100.9", field), "198.51.100.9");
        }),
        fcOptions({ numRuns: 500 }),
      );
    });

    test(`depends on the values that trusted proxies write in ${forwardedHeader}`, () => {
      fc.assert(
        fc.property(
          fc.array(element, { minLength: 1, maxLength: 8 }),
          fc.option(anything),
          fc.constantFrom(",", ", ", "\t, "),
          (elements, forged, comma) => {
            const written = elements.map(({ text }) => text).join(comma);
            const model = modelled(elements.map(({ hop }) => hop));
            const found = addressOf(
              "10.0.0.1",
              forged === null ? written : forged + comma + written,
            );
            if (model !== "beyond") return assert.equal(found, model);
            // All that is written are trusted proxies, so the client is what stands before them.
            const outermost = formatAddress(parseAddress(elements[0]!.hop)!);
            if (forged === null) assert.equal(found, outermost);
            else if (forwardedHeader === FIELD) {
              assert.equal(found, addressOf("10.0.0.1", forged));
            }
          },
        ),
        fcOptions({ numRuns: 3_000 }),
      );
    });
  }

  test("of X-Forwarded-For is read otherwise than by splitting it", () => {
    const addressOf = clientAddress({ trustedProxies: trusted });
    fc.assert(
      fc.property(anything, (field) => {
        const hops = field.split(",").map((hop) => hop.trim());
        let expected = modelled(hops.slice(-32));
        if (expected === "beyond") {
          expected = hops.length > 32 ? undefined : formatAddress(parseAddress(hops[0]!)!);
        }
        assert.equal(addressOf("10.0.0.1", field), expected);
      }),
      fcOptions({ numRuns: 2_000 }),
    );
  });
});

test("the prefix of IPv6 must still tell clients apart", () => {
  for (const prefix of [0, 31, 129, 64.5, NaN]) {
    assert.throws(() => addressKey("::1", prefix), RangeError);
  }
});
