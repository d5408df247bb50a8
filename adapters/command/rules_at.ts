/*
 * The rules at the place that a command receives: a file, a folder, or Redis.
 */

import { withTimeout } from "../../core/application_support.ts";
import {
  fileSource,
  problemText,
  readDocuments,
  type ReadRules,
  type RedisRulesClient,
  redisSource,
  type RuleDocument,
  type RuleSource,
} from "../rules/rules.ts";
import { loadRedis } from "../service/load_redis.ts";
import { errorText } from "../service/log.ts";
import { redisUrlOf, type RULE_OPTIONS, type Tools, type ValuesOf } from "./command_options.ts";

/** Reads the rules at a path once, and reports their faults. */
export async function readAt(
  path: string,
  values: ValuesOf<typeof RULE_OPTIONS>,
  { complain }: Pick<Tools, "complain">,
): Promise<ReadRules> {
  const source = await sourceOf(path);
  let documents: readonly RuleDocument[];
  try {
    documents = await source.load();
  } catch (cause) {
    throw new Error(`Cannot load rules from ${source.name}`, { cause });
  } finally {
    await source.close?.();
  }
  const options = { format: values.format, mergeDomains: values["merge-domains"] };
  const read = await readDocuments(documents, options);
  for (const problem of read.problems) complain(problemText(problem));
  return read;
}

/** Milliseconds for which a starting service tries to reach Redis for its rules. */
const FIRST_DIAL = 5_000;

/**
 * The source of the rules at a path.
 *
 * @param onError Receives errors of a connection, which is then reopened; without it the first
 * error ends the command.
 */
export async function sourceOf(
  path: string,
  onError?: (error: unknown) => void,
): Promise<RuleSource> {
  if (!/^rediss?:/.test(path)) return fileSource(path);
  redisUrlOf(path, "RULES");
  const { createClient } = await loadRedis();
  // While the connection is down a read fails at once, rather than wait and be kept.
  const client = createClient({ url: path, disableOfflineQueue: true });
  const source = redisSource(client as unknown as RedisRulesClient);
  let dialled: Promise<void> | undefined;
  let cancel: (error: unknown) => void = () => {};
  let last: unknown;
  client.on("error", (error) => {
    last = error;
    (onError ?? cancel)(error);
  });

  async function dial(): Promise<void> {
    const cancelled = new Promise<never>((_resolve, reject) => cancel = reject);
    try {
      await withTimeout<unknown>(Promise.race([client.connect(), cancelled]), FIRST_DIAL, late);
    } catch (error) {
      // The path may hold a password.
      throw new Error(`Cannot reach Redis at ${new URL(path).host}: ${errorText(last ?? error)}`);
    }
  }

  return {
    ...source,
    async load() {
      await (dialled ??= dial());
      return await source.load();
    },
    close() {
      cancel(new Error("the source was closed"));
      if (client.isOpen) client.destroy();
      return Promise.resolve();
    },
  };
}

function late(): never {
  throw new Error(`no answer within ${FIRST_DIAL} ms`);
}
