/*
 * A connection for slots that are being moved to its node, which serves them only after an ASKING.
 */

import type { Command, Connection, Dial } from "./connection.ts";

/** Dials connections on which every command is preceded by an ASKING. */
export function askingDial(dial: Dial): Dial {
  return async (timeout) => asking(await dial(timeout));
}

function asking(connection: Connection): Connection {
  return {
    ...connection,
    get open() {
      return connection.open;
    },
    async send(commands) {
      let inTransaction = false;
      const written = commands.flatMap((command): readonly Command[] => {
        // An ASKING before MULTI counts for the whole transaction.
        if (inTransaction) return [command];
        inTransaction = command[0] === "MULTI";
        return [ASKING, command];
      });
      const replies = await connection.send(written);
      return replies.filter((_, index) => written[index] !== ASKING);
    },
  };
}

const ASKING: Command = ["ASKING"];
