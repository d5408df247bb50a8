import { commandLine } from "../../../../adapters/service/service.ts";

/** The exit status and the output of a command. */
export interface Ran {
  readonly status: number;
  readonly printed: string;
  readonly complaints: string;
}

/** Runs the command with an environment, and collects what it prints. */
export async function runWith(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Ran> {
  const printed: string[] = [];
  const complaints: string[] = [];
  const status = await commandLine(args, {
    print: (line) => printed.push(line),
    complain: (line) => complaints.push(line),
    env,
  });
  return { status, printed: printed.join("\n"), complaints: complaints.join("\n") };
}

/** Runs the command. */
export function run(...args: readonly string[]): Promise<Ran> {
  return runWith({}, ...args);
}
