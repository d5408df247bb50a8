/*
 * A driver for DynamoDB, by the package @aws-sdk/client-dynamodb. A group of one key is one
 * conditional write, or a consistent read if nothing changes. A group of several keys is a
 * transaction.
 *
 *   const store = compareAndSetStore(dynamodb(new DynamoDB({ maxAttempts: 1 }), "tidegate"));
 *
 * The table has the partition key `name`, a string. Let its time to live be the attribute `expires`.
 * Without `maxAttempts: 1` the client repeats a write whose answer was lost, and a call is charged
 * twice.
 *
 * DynamoDB does not report its time, so the clocks of the processes count. A table in several regions
 * has no transactions across them, and the last writer wins. So use the table of one region.
 */
import { type CompareAndSet, type DriverCell, DriverError } from "../../stores/stores.ts";

/** The part of the client that the driver needs. */
export interface DynamoClient {
  getItem(input: ItemOf, options: Options): Promise<{ Item?: Answered | undefined }>;
  putItem(input: Condition & { Item: Item }, options: Options): Promise<unknown>;
  deleteItem(input: Condition & ItemOf, options: Options): Promise<unknown>;
  transactGetItems(
    input: { TransactItems: { Get: ItemOf }[] },
    options: Options,
  ): Promise<{ Responses?: { Item?: Answered | undefined }[] | undefined }>;
  transactWriteItems(input: { TransactItems: WriteOf[] }, options: Options): Promise<unknown>;
}

/** A value has one of these members. The driver's tables have no other values. */
type Item = Record<string, { S: string } | { N: string }>;
type Answered = Readonly<Record<string, { readonly S?: string | undefined }>>;
interface Options {
  readonly abortSignal: AbortSignal;
}
interface ItemOf {
  TableName: string;
  Key: { name: { S: string } };
  ConsistentRead?: boolean;
}
interface Condition {
  TableName: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Record<string, { S: string }>;
  ReturnValuesOnConditionCheckFailure: "ALL_OLD";
}
type WriteOf =
  | { Put: Condition & { Item: Item } }
  | { Delete: Condition & ItemOf }
  | { ConditionCheck: Condition & ItemOf };

/** The most keys of a transaction. */
const MOST_KEYS = 100;

/** The driver of a table. */
export function dynamodb(client: DynamoClient, table: string): CompareAndSet {
  const itemOf = (key: string): ItemOf => ({ TableName: table, Key: { name: { S: key } } });

  /** A cell's text must be as expected. */
  function conditionOf({ held }: DriverCell): Condition {
    return {
      TableName: table,
      ConditionExpression: held === "" ? "attribute_not_exists(#state)" : "#state = :held",
      ExpressionAttributeNames: { "#state": "state" },
      ...(held !== "" && { ExpressionAttributeValues: { ":held": { S: held } } }),
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    };
  }

  function writeOf(cell: DriverCell): WriteOf {
    const { key, held, next, freshAt } = cell;
    const condition = conditionOf(cell);
    if (next === held) return { ConditionCheck: { ...condition, ...itemOf(key) } };
    if (next === "") return { Delete: { ...condition, ...itemOf(key) } };
    const expires = { N: String(Math.ceil(freshAt / 1_000)) };
    return { Put: { ...condition, Item: { name: { S: key }, state: { S: next }, expires } } };
  }

  /** The texts that keys hold at one instant. */
  async function read(
    cells: readonly DriverCell[],
    options: Options,
  ): Promise<readonly string[]> {
    if (cells.length === 1) {
      const { Item } = await client.getItem(
        { ...itemOf(cells[0]!.key), ConsistentRead: true },
        options,
      );
      return [textOf(Item)];
    }
    const TransactItems = cells.map(({ key }) => ({ Get: itemOf(key) }));
    const { Responses = [] } = await client.transactGetItems({ TransactItems }, options);
    return cells.map((_, index) => textOf(Responses[index]?.Item));
  }

  /**
   * Writes a group if all keys hold their expected texts. Otherwise returns the texts, if they are
   * known.
   */
  async function write(
    cells: readonly DriverCell[],
    options: Options,
  ): Promise<"written" | "lost" | readonly string[]> {
    const items = cells.map(writeOf);
    const [first] = items;
    try {
      if (items.length > 1) await client.transactWriteItems({ TransactItems: items }, options);
      else if ("Put" in first!) await client.putItem(first.Put, options);
      else if ("Delete" in first!) await client.deleteItem(first.Delete, options);
      return "written";
    } catch (error) {
      const { name, Item } = error as { readonly name?: string; readonly Item?: Answered };
      if (name === LOST) return Item === undefined ? "lost" : [textOf(Item)];
      if (codesOf(error).some((code) => code === "ConditionalCheckFailed")) return "lost";
      throw error;
    }
  }

  /** Commits one group. Returns the texts of its keys if it is lost. */
  async function commitGroup(
    cells: readonly DriverCell[],
    options: Options,
  ): Promise<readonly string[] | undefined> {
    const changes = cells.some(({ held, next }) => held !== next);
    while (true) {
      try {
        const outcome = changes ? await write(cells, options) : "lost";
        if (outcome === "written") return undefined;
        const held = outcome === "lost" ? await read(cells, options) : outcome;
        if (cells.some((cell, index) => cell.held !== held[index])) return held;
        // If somebody else has changed a key and changed it back, the next try can write it.
        if (!changes) return undefined;
      } catch (error) {
        if (!isBusy(error) || options.abortSignal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * BUSY_MS));
      }
    }
  }

  return {
    name: "DynamoDB",
    async commit(groups, abortSignal) {
      if (groups.some(({ length }) => length > MOST_KEYS)) {
        const text = `A transaction must have at most ${MOST_KEYS} keys`;
        throw new DriverError(text, { applied: "no", scope: "call" });
      }
      const lost: { readonly group: number; readonly held: readonly string[] }[] = [];
      const failures: unknown[] = [];
      await Promise.all(groups.map(async (cells, group) => {
        try {
          const held = await commitGroup(cells, { abortSignal });
          if (held !== undefined) lost.push({ group, held });
        } catch (error) {
          failures.push(error);
        }
      }));
      if (failures.length === 0) return { lost };
      const [cause] = failures;
      // If one group fails, other groups may have been written.
      if (failures.length < groups.length || !failures.every(isRefused)) throw cause;
      throw new DriverError((cause as Error).message, { applied: "no", cause });
    },
  };
}

function textOf(item: Answered | undefined): string {
  return item?.["state"]?.S ?? "";
}

const LOST = "ConditionalCheckFailedException";
/** The most milliseconds until a group that met another transaction is tried again. */
const BUSY_MS = 20;

/** The reason of each key for which the transaction was cancelled. */
function codesOf(error: unknown): readonly (string | undefined)[] {
  const { CancellationReasons = [] } = error as {
    readonly CancellationReasons?: readonly { readonly Code?: string }[];
  };
  return CancellationReasons.map(({ Code }) => Code);
}

/** Whether a key is in somebody else's transaction. Nothing was written then. */
function isBusy(error: unknown): boolean {
  return (error as Error).name === "TransactionConflictException" ||
    codesOf(error).some((code) => code === "TransactionConflict");
}

const REFUSED_REGEXP = /^(ResourceNotFound|ProvisionedThroughputExceeded|AccessDenied)Exception$/;

/** Whether nothing was written because the table takes no calls, or cannot be reached. */
function isRefused(error: unknown): boolean {
  const { name = "", code } = error as { readonly name?: string; readonly code?: string };
  return code === "ECONNREFUSED" || REFUSED_REGEXP.test(name);
}
