import { connect, type SecureClientSessionOptions } from "node:http2";

/** The answer to a call: its status and bytes, or neither if the server closed the connection. */
export interface GrpcAnswer {
  status: number | undefined;
  bytes: readonly number[];
}

/** Milliseconds of silence after which the server counts as not taking the call. */
const SILENCE = 20_000;

/** Sends a message, whatever its bytes, to a method of gRPC. */
export function rawGrpc(
  url: string,
  path: string,
  message: readonly number[],
  options?: SecureClientSessionOptions,
): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    const answer: GrpcAnswer = { status: undefined, bytes: [] };
    const session = connect(url, options);
    const end = () => {
      session.destroy();
      resolve(answer);
    };
    session.on("error", end);
    // A client of Node may miss that the server has ended the connection right after the handshake.
    session.setTimeout(SILENCE, end);
    const call = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const read = ({ "grpc-status": status }: { readonly "grpc-status"?: unknown }) => {
      if (status !== undefined) answer.status = Number(status);
    };
    call.on("response", read);
    call.on("trailers", read);
    call.on("data", (data: Uint8Array) => answer.bytes = [...data]);
    call.on("error", () => {});
    call.on("close", end);
    call.end(new Uint8Array([0, 0, 0, 0, message.length, ...message]));
  });
}
