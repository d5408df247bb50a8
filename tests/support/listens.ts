import { connect } from "node:net";

/** Whether a program listens on a port of 127.0.0.1. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", () => end(true));
    socket.on("error", () => end(false));
  });
}
