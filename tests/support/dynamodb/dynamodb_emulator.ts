import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { createRequire } from "node:module";
import type { AddressInfo, Server } from "node:net";

import type { DynamoClient } from "../../../examples/drivers/dynamodb.ts";

const dynalite = createRequire(import.meta.url)("dynalite") as (options: object) => Server;

/** A table of the emulator. */
export interface DynamodbEmulator {
  readonly client: DynamoClient;
  /** How many writes it was asked for. */
  writes(): number;
  stop(): Promise<void>;
}

/** The name of its table. */
export const TABLE = "tidegate";

/** Starts the emulator in this process, with an empty table, and its client from Amazon. */
export async function startDynamodb(): Promise<DynamodbEmulator> {
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = new DynamoDB({
    endpoint: `http://127.0.0.1:${port}`,
    region: "local",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    maxAttempts: 1,
  });
  await client.createTable({
    TableName: TABLE,
    KeySchema: [{ AttributeName: "name", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "name", AttributeType: "S" }],
    BillingMode: "PAY_PER_REQUEST",
  });
  let writes = 0;
  return {
    client: withTransactions(client, () => writes++),
    writes: () => writes,
    async stop() {
      client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * The emulator has no transactions, and does not return the item of a failed condition. They are added
 * here, from Amazon's documentation: calls have their turns, because the service serializes them, and every
 * tenth transaction is cancelled as it would be if it met another one.
 */
function withTransactions(client: DynamoDB, onWrite: () => void): DynamoClient {
  const plain: DynamoClient = client;
  let last: Promise<unknown> = Promise.resolve();
  let transactions = 0;
  function inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  }
  function cancel(codes: readonly string[]): never {
    throw Object.assign(new Error("Transaction cancelled"), {
      name: "TransactionCanceledException",
      CancellationReasons: codes.map((Code) => ({ Code })),
    });
  }
  const meetsAnother = () => ++transactions % 10 === 0;
  const readOne = async (input: Parameters<DynamoClient["getItem"]>[0]) =>
    (await client.getItem({ ...input, ConsistentRead: true })).Item;
  /** A write, with the item of a failed condition every other time. */
  async function write<Answer>(
    work: () => Promise<Answer>,
    key: { S: string },
  ): Promise<Answer> {
    onWrite();
    try {
      return await work();
    } catch (error) {
      if (++transactions % 2 === 0) throw error;
      throw Object.assign(error as Error, {
        Item: await readOne({ TableName: TABLE, Key: { name: key } }),
      });
    }
  }

  return {
    getItem: (input, options) => inTurn(() => plain.getItem(input, options)),
    putItem: (input, options) =>
      inTurn(() => write(() => plain.putItem(input, options), input.Item["name"] as { S: string })),
    deleteItem: (input, options) =>
      inTurn(() => write(() => plain.deleteItem(input, options), input.Key.name)),
    transactGetItems: ({ TransactItems }) =>
      inTurn(async () => {
        if (meetsAnother()) cancel(TransactItems.map(() => "TransactionConflict"));
        const items = await Promise.all(TransactItems.map(({ Get }) => readOne(Get)));
        return { Responses: items.map((Item) => ({ Item })) };
      }),
    transactWriteItems: ({ TransactItems }) =>
      inTurn(async () => {
        if (meetsAnother()) cancel(TransactItems.map(() => "TransactionConflict"));
        const parts = TransactItems.map((item) => Object.values(item)[0]!);
        const codes = await Promise.all(parts.map(async (part) => {
          const name = "Item" in part ? part.Item.name as { S: string } : part.Key.name;
          const item = await readOne({ TableName: TABLE, Key: { name } });
          const wanted = part.ExpressionAttributeValues?.[":held"]?.S;
          return item?.["state"]?.S === wanted ? "None" : "ConditionalCheckFailed";
        }));
        if (codes.some((code) => code !== "None")) cancel(codes);
        onWrite();
        for (const item of TransactItems) {
          if ("Put" in item) await client.putItem({ TableName: TABLE, Item: item.Put.Item });
          if ("Delete" in item) await client.deleteItem({ TableName: TABLE, Key: item.Delete.Key });
        }
      }),
  };
}
