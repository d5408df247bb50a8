/*
 * The texts of `--help`. They are made from the tables that also parse arguments, so help and
 * behavior cannot disagree.
 */

import {
  type Command,
  COMMON_OPTIONS,
  exampleOf,
  type OptionTable,
  readsVariables,
} from "./command_options.ts";

const WIDTH = 100;
const INDENT = 30;

/** The text of `tidegate --help`. */
export function overviewText(commands: readonly Command[]): string {
  const rows = commands.map(({ name, operands, summary }) =>
    row(`tidegate ${name} ${operands}`, summary)
  );
  return [
    `tidegate: serves rate limits from rule files, and tries limits on logs`,
    ...["", ...rows, ""],
    row("tidegate COMMAND --help", "show the options of a command"),
    row("tidegate --version", "show the version"),
    ...["", ...statusRows(["success", "failure"])],
  ].join("\n");
}

/** The text of `tidegate COMMAND --help`. */
export function commandText(command: Command): string {
  const { name, operands, summary, about, options, statuses } = command;
  return [
    `tidegate ${name} ${operands}`,
    ...["", `  ${summary}`, "", about, ""],
    "Options",
    ...optionRows({ ...options, ...COMMON_OPTIONS }),
    ...(readsVariables(options) ? ["", VARIABLES] : []),
    ...["", ...statusRows(statuses)],
  ].join("\n");
}

const VARIABLES =
  `Every option can also be an environment variable: --drain-delay is TIDEGATE_DRAIN_DELAY.
Arguments take precedence over variables.`;

function optionRows(options: OptionTable): string[] {
  return Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    return row(`  ${short}--${name} ${exampleOf(option)}`, option.text);
  });
}

function statusRows([well, not]: Command["statuses"]): string[] {
  const texts = [well, not, "invalid arguments"];
  return ["Exit status", ...texts.map((text, status) => row(`  ${status}`, text))];
}

/** A term and its meaning in two columns, the second one wrapped. */
function row(term: string, text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (INDENT + line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  const broken = lines.join(`\n${" ".repeat(INDENT)}`);
  const head = term.trimEnd();
  return head.length < INDENT
    ? head.padEnd(INDENT) + broken
    : `${head}\n${" ".repeat(INDENT)}${broken}`;
}
