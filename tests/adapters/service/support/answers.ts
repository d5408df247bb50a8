import type { ChildProcess } from "node:child_process";
import { connect } from "node:net";

/** Waits until a server that was started takes connections. */
export async function answers(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}`);
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      const end = (answer: boolean) => {
        socket.destroy();
        resolve(answer);
      };
      socket.on("connect", () => end(true));
      socket.on("error", () => end(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("The server did not start within 15 seconds");
}
