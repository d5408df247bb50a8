/*
 * `tidegate completions`: prints the completions of the command for a shell, made from the tables
 * of options.
 */

import {
  type Command,
  COMMON_OPTIONS,
  defineCommand,
  type OptionTable,
  takesValue,
  usageError,
} from "./command_options.ts";

/** A word that a command takes, in the form that shells show. */
interface Word {
  readonly name: string;
  readonly text: string;
  readonly takesValue: boolean;
  readonly choices: string;
}

const SHELLS: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Makes the command that completes the given commands, and itself. */
export function completionsCommand(others: readonly Command[]): Command {
  const completions: Command = defineCommand({
    name: "completions",
    operands: "SHELL",
    operandChoices: Object.keys(SHELLS),
    summary: "print completions for bash, zsh or fish",
    about: `  bash: tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate
  zsh:  tidegate completions zsh > a file _tidegate in a folder of $fpath
  fish: tidegate completions fish > ~/.config/fish/completions/tidegate.fish`,
    options: {},
    statuses: ["success", "failure"],
    run([shell = ""], _values, { print }) {
      const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (script === undefined) {
        throw usageError("completions needs a shell: bash, zsh or fish");
      }
      print(script([...others, completions]));
      return Promise.resolve(0);
    },
  });
  return completions;
}

function wordsOf({ options }: Command): Word[] {
  const table: OptionTable = { ...options, ...COMMON_OPTIONS };
  return Object.entries(table).map(([name, option]) => ({
    name,
    text: option.text.replaceAll(/['"`:[\]\\]/g, ""),
    takesValue: takesValue(option),
    choices: option.choices?.join(" ") ?? "",
  }));
}

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const { name: own, operandChoices = [] } = command;
    const words = wordsOf(command);
    // A value without choices is a file, or cannot be completed.
    const values = words.filter(({ takesValue }) => takesValue).map(({ name, choices }) =>
      `      "${own} --${name}") words="${choices}" ;;\n`
    );
    const all = [...words.map(({ name }) => `--${name}`), ...operandChoices].join(" ");
    return `${values.join("")}      "${own} "*) words="${all}" ;;\n`;
  });
  return `_tidegate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} words=
  if [ "$COMP_CWORD" = 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in
${cases.join("")}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _tidegate tidegate`;
}

function zshScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const specs = wordsOf(command).map(({ name, text, takesValue, choices }) => {
      const value = choices === "" ? ":value:_files" : `:value:(${choices})`;
      return `'--${name}[${text}]${takesValue ? value : ""}'`;
    });
    const operands = command.operandChoices;
    const rest = operands === undefined ? "'*:file:_files'" : `'1:word:(${operands.join(" ")})'`;
    return `    ${command.name}) _arguments ${[...specs, rest].join(" \\\n      ")} ;;`;
  });
  const names = commands.map(({ name, summary }) => `'${name}:${summary.replaceAll("'", "")}'`);
  return `#compdef tidegate
_tidegate() {
  if (( CURRENT == 2 )); then
    local -a commands=(${names.join(" ")})
    _describe command commands
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
${cases.join("\n")}
  esac
}
compdef _tidegate tidegate`;
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const inside = `complete -c tidegate -n '__fish_seen_subcommand_from ${command.name}'`;
    const options = wordsOf(command).map(({ name, text, takesValue, choices }) => {
      const value = choices !== "" ? ` -x -a '${choices}'` : takesValue ? " -r" : "";
      return `${inside} -l ${name} -d '${text}'${value}`;
    });
    const operands = command.operandChoices;
    return [
      `complete -c tidegate -n __fish_use_subcommand -f -a ${command.name} ` +
      `-d '${command.summary.replaceAll("'", "")}'`,
      ...options,
      ...(operands === undefined ? [] : [`${inside} -f -a '${operands.join(" ")}'`]),
    ];
  });
  return lines.join("\n");
}
