import type { AwaitedServer } from "../../optimistic/await_reply.ts";
import type { Connection } from "../clients/connection.ts";

/** A connection, as commits see it, and the facts about its server. */
export interface CommitNode extends AwaitedServer {
  readonly connection: Connection;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}
