import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { readDocuments } from "../../../../adapters/rules/rules.ts";
import {
  type Advice,
  adviceJson,
  adviceText,
  advise,
  type LogEntry,
  readTrace,
  replay,
  replayPage,
} from "../../../../adapters/replay/replay.ts";
import { algorithmOf } from "../../../../adapters/replay/advise/choose_limits.ts";
import {
  commandOf,
  rulesOf,
  typescriptOf,
} from "../../../../adapters/replay/output/advice_snippets.ts";
import { traffic } from "../../../../examples/traffic.ts";

const START = Date.UTC(2026, 2, 2);

/** Thirty people with some requests each, in half an hour. */
function people(most = 12): LogEntry[] {
  return Array.from(
    { length: 30 },
    (_, person) =>
      Array.from({ length: 3 + person % (most - 2) }, (_, row) => ({
        at: START + person * 7_001 + row * 17_003,
        key: `192.0.2.${person}`,
        cost: 1,
      })),
  ).flat();
}

/** A client that comes all half hour long. */
function steady(key: string, every: number): LogEntry[] {
  return Array.from({ length: Math.floor(1_800_000 / every) }, (_, row) => ({
    ...{ at: START + row * every, key, cost: 1 },
  }));
}

describe("advise", () => {
  test("sets aside whoever keeps up a pace that nobody else does, and admits all others", async () => {
    const { parts: [part], clients, grain } = await advise([...people(), ...steady("flood", 200)]);
    assert.deepEqual(part!.odd.map(({ key, isSteady, isRefused }) => [key, isSteady, isRefused]), [
      ["flood", true, true],
    ]);
    assert.deepEqual([clients, grain, part!.ordinary, part!.refuses], [31, 1, 30, 1]);
    const { candidates } = await replay(people(), [
      { algorithm: algorithmOf(part!.limits) },
      { algorithm: algorithmOf([part!.tight]) },
    ]);
    assert.deepEqual(candidates.map(({ denied }) => denied), [0, 0]);
    const [heaviest] = part!.heaviest;
    assert.deepEqual([heaviest!.key, heaviest!.isSetAside], ["flood", true]);
    assert.ok(heaviest!.refused > 8_000 && heaviest!.refusedByTight > heaviest!.refused);
  });

  test("sets aside larger and smaller attackers: no attacker hides another one", async () => {
    const log = [
      ...people(),
      ...[50, 200, 800].flatMap((every) => steady(`flood-${every}`, every)),
    ];
    const { parts: [part] } = await advise(log);
    assert.deepEqual(part!.odd.map(({ key }) => key), ["flood-50", "flood-200", "flood-800"]);
  });

  test("leaves whoever the caller says is ordinary", async () => {
    const log = [...people(), ...steady("mine", 200)];
    const { parts: [part] } = await advise(log, { ordinary: ["mine"] });
    assert.deepEqual([part!.setAside, part!.ordinary], [0, 31]);
    const { candidates } = await replay(log, [{ algorithm: algorithmOf(part!.limits) }]);
    assert.equal(candidates[0]!.denied, 0);
  });

  test("takes a monitor for ordinary, but not a program that asks for many pages", async () => {
    const line = (at: number, host: string, path: string) =>
      `${new Date(at).toISOString()},${host},GET,${path}\n`;
    const log = (path: (row: number) => string) =>
      "time,client,method,url\n" +
      people().map(({ at, key }) => line(at, key, "/")).join("") +
      steady("m", 2_500).map(({ at }, row) => line(at, "m", path(row))).join("");
    const partOf = async (text: string) =>
      (await advise(await readTrace(text, { marks: true }))).parts[0]!;
    const monitor = await partOf(log(() => "/health"));
    assert.deepEqual([monitor.monitors, monitor.setAside], [1, 0]);
    const scan = await partOf(log((row) => `/${row}.php`));
    assert.deepEqual([scan.monitors, scan.odd.map(({ key }) => key)], [0, ["m"]]);
  });

  test("gives requests that log in advice of their own", async () => {
    const line = (at: number, host: string, method: string, path: string, status = 200) =>
      `${JSON.stringify({ time: at, remote_addr: host, method, url: path, status })}\n`;
    const text = people(30).map(({ at, key }) => line(at, key, "GET", "/")).join("") +
      Array.from(
        { length: 30 },
        (_, n) => line(START + n * 9_000, `192.0.2.${n}`, "POST", "/login"),
      )
        .join("") +
      // Less than the busiest person, but nobody logs in as often.
      Array.from({ length: 24 }, (_, n) => line(START + n * 20_000, "guess", "POST", "/login", 429))
        .join("");
    const advice = await advise(await readTrace(text, { marks: true }));
    const [all, writes, logins] = advice.parts;
    assert.deepEqual([all!.part, writes!.part, logins!.part], ["all", "writes", "logins"]);
    assert.equal(all!.setAside, 0);
    assert.deepEqual(logins!.odd.map(({ key, isRefused }) => [key, isRefused]), [["guess", true]]);
    assert.deepEqual(advice.log?.seen?.logins, [["/login", 54]]);
    const printed = adviceText(advice);
    assert.match(printed, /24 requests were answered by 429, so a limit was in force/);
    await checkSnippets(advice);
    assert.match(
      rulesOf(advice).join("\n"),
      /"path":"\/login","ignoreCase":true,"methods":\["POST"/,
    );
  });

  test("allows for times of whole seconds", async () => {
    const exact = await advise(people());
    const whole = await advise(
      people().map((entry) => ({
        ...entry,
        at: Math.floor(entry.at / 1_000) * 1_000,
      })),
    );
    assert.deepEqual([exact.grain, whole.grain], [1, 1_000]);
    const [{ limits: [limit] }] = whole.parts as [Advice["parts"][0]];
    const { candidates } = await replay(people(), [{ algorithm: algorithmOf([limit!]) }]);
    assert.equal(candidates[0]!.denied, 0);
  });

  test("reports the questions that it cannot answer", async () => {
    const few = await advise([{ at: START, key: "a", cost: 1 }]);
    assert.match(
      adviceText(few),
      /With fewer than 20 clients, only a program that keeps up a steady pace/,
    );
    assert.match(adviceText(few), /^- A whole week: it is 0 ms long\.$/m);
    const proxied = await advise([...people(), ...steady("proxy", 900)]);
    assert.match(adviceText(proxied), /if it is your proxy, --key must name the field/);
    await checkSnippets(few);
  });

  test("counts units where requests cost more than one", async () => {
    const log = people().map((entry) => ({ ...entry, cost: 100 }));
    const { parts: [part], units } = await advise(log);
    assert.equal(units, 100 * log.length);
    assert.ok(part!.limits.every(({ burst }) => burst >= 100));
    const { candidates } = await replay(log, [{ algorithm: algorithmOf(part!.limits) }]);
    assert.equal(candidates[0]!.denied, 0);
  });

  test("refuses what it cannot use", async () => {
    await assert.rejects(advise([]), /Cannot advise on a log as the log must contain at least one/);
    for (const headroom of [0, 11, NaN]) {
      await assert.rejects(advise(people(), { headroom }), /headroom must be from 1 to 10/);
    }
    await assert.rejects(
      advise(people(), { hedroom: 2 } as object),
      /no option "hedroom": .*headroom/,
    );
  });

  test("commands no terminal, and becomes no markup or other line of YAML", async () => {
    const evil = '\u001b[2J</script>"\n  - key: all';
    const log = [...people(), ...steady(evil, 400)];
    const advice = await advise(log);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(adviceText(advice), /[\u0000-\u0009\u000b-\u001f]/);
    const report = await replay(log, [{ algorithm: algorithmOf(advice.parts[0]!.limits) }]);
    assert.doesNotMatch(replayPage(report, { advice }), /<script|<\/script/);
    assert.equal(JSON.parse(adviceJson(advice)).version, 1);
    const hostile = await readTrace(
      people().map(({ at, key }) =>
        JSON.stringify({ time: at, ip: key, method: "POST", url: "/login\n  - path: /*" })
      ).join("\n"),
      { marks: true },
    );
    await checkSnippets(await advise(hostile));
  });

  test("finds the attacker of generated traffic", async () => {
    const { parts: [part] } = await advise(traffic("attack", { seed: 3, rate: 4 }));
    assert.deepEqual(part!.odd.map(({ key }) => key), ["203.0.113.66"]);
    assert.equal((await advise(traffic("steady", { rate: 4 }))).parts[0]!.setAside, 0);
  });
});

/** Checks that the lines to paste can be used. */
async function checkSnippets(advice: Advice): Promise<void> {
  const documents = [{ name: "rules.json", text: `${rulesOf(advice).join("\n")}\n` }];
  const { rules, problems } = await readDocuments(documents);
  assert.deepEqual(problems, []);
  assert.match(
    commandOf(advice, "LOG")[0]!,
    /^npx tidegate replay LOG(?: --rule gcra:\d+\/\d+(?:s|m|h),burst=\d+)+$/,
  );
  assert.equal(rules!.rules.length, advice.parts.length);
  assert.equal(rules!.rules[0]!.limits.length, advice.parts[0]!.limits.length);
  assert.equal(
    typescriptOf(advice).filter((line) => /^const \w+ = limiter\(/.test(line)).length,
    advice.parts.length,
  );
}
