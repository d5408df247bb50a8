/*
 * The keys of a prefix in a database: its driver lists them a page at a time, and deletes them.
 */

import type { Algorithm } from "../core/algorithm.ts";
import { StoreUnavailableError } from "../core/errors.ts";
import type { ListedKey } from "../core/store.ts";
import { type MaybePromise, orElse } from "../core/maybe_promise.ts";
import type { DriverError, Housekeeping, ListedText } from "./driver.ts";
import { driverKeyReader, keyBeginning } from "./driver_keys.ts";
import { asError } from "./as_error.ts";
import { decodeText } from "./stepping/cell.ts";
import { otherWork } from "./own_timers.ts";

/** The keys of a page. */
const PAGE = 1_000;

/**
 * Lists the keys of a prefix and an algorithm. Between two pages, other work of the process goes on.
 *
 * @throws {StoreUnavailableError} If the database does not answer.
 */
export async function* listTexts(
  driver: Pick<Housekeeping, "name" | "list">,
  prefix: string,
  algorithm: Algorithm,
): AsyncGenerator<readonly ListedKey[], void> {
  const beginning = keyBeginning(prefix);
  const keyOf = driverKeyReader(prefix, algorithm.id);
  let after = "";
  for (;;) {
    const page = await pageAfter(driver, beginning, after);
    yield page.flatMap(([stored, text]) => {
      const key = keyOf(stored);
      const state = key === undefined ? undefined : decodeText(text, algorithm);
      return state === undefined ? [] : [[key!, state]] as const;
    });
    if (page.length < PAGE) return;
    after = page.at(-1)![0];
    await otherWork();
  }
}

async function pageAfter(
  driver: Pick<Housekeeping, "name" | "list">,
  beginning: string,
  after: string,
): Promise<readonly ListedText[]> {
  try {
    return await driver.list!(beginning, after, PAGE);
  } catch (cause) {
    throw failed("list keys", driver.name, cause, "no");
  }
}

/**
 * Deletes the keys of a prefix.
 *
 * @throws {StoreUnavailableError} If the database does not answer. Some keys may be deleted then.
 */
export function deleteTexts(
  driver: Pick<Housekeeping, "name"> & { deletePrefix?(beginning: string): unknown },
  prefix: string,
): MaybePromise<void> {
  return orElse<void>(
    () => driver.deletePrefix!(keyBeginning(prefix)) as MaybePromise<void>,
    (cause) => {
      const { applied = "unknown" } = asError(cause) as Partial<DriverError>;
      throw failed("delete the keys of a prefix", driver.name, cause, applied);
    },
  );
}

function failed(
  action: string,
  name: string,
  cause: unknown,
  applied: "no" | "unknown",
): StoreUnavailableError {
  const { message, rule = "answer" } = asError(cause) as Partial<DriverError>;
  return new StoreUnavailableError(
    `Cannot ${action} as ${name} must ${rule}: ${message}`,
    applied,
    { cause },
  );
}
