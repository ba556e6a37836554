import { unreachable } from '../../base/assert.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

export interface CompletedCommand {
  /** `/record/list`; empty for the program itself. */
  readonly path: string;
  readonly children: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
}

export interface CompletedOption {
  /** `--data` */
  readonly flag: string;
  readonly description: string;
  /** What its value is: `text` is one that only the user knows. */
  readonly kind: 'switch' | 'file' | 'folder' | 'text';
  readonly choices: readonly string[];
}

/** Returns a script that completes these commands, of which the first is the program. */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return zshScript(commands);
    case 'fish':
      return fishScript(commands);
    default:
      return unreachable(shell);
  }
}

/** Returns each option that takes a value once. Those of the same name take the same kind, whatever command they belong to. */
function valueOptions(commands: readonly CompletedCommand[]): readonly CompletedOption[] {
  const byFlag = new Map<string, CompletedOption>();
  for (const option of commands.flatMap(({ options }) => options)) {
    const before = byFlag.get(option.flag);
    if (option.kind !== 'switch' && (before === undefined || before.choices.length === 0))
      byFlag.set(option.flag, option);
  }
  return [...byFlag.values()].toSorted((one, other) => (one.flag < other.flag ? -1 : 1));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns a pattern of a `case` for all but the program: the paths that a further word may lead to. */
function pathPattern(commands: readonly CompletedCommand[]): string {
  return commands
    .slice(1)
    .map(({ path }) => path)
    .join('|');
}

/** Returns the branches of a `case` over the word before, each with what it does to complete a value. */
function valueBranches(
  options: readonly CompletedOption[],
  actions: { readonly words: (words: string) => string; readonly file: string; readonly folder: string },
): string {
  const withChoices = options.filter(({ choices }) => choices.length > 0);
  const rest = options.filter(({ choices }) => choices.length === 0);
  const flagsOf = (kind: CompletedOption['kind']): string =>
    rest
      .filter((option) => option.kind === kind)
      .map(({ flag }) => flag)
      .join('|');
  return [
    ...withChoices.map(({ flag, choices }) => `    ${flag}) ${actions.words(choices.join(' '))}; return ;;`),
    `    ${flagsOf('file')}) ${actions.file}; return ;;`,
    `    ${flagsOf('folder')}) ${actions.folder}; return ;;`,
    `    ${flagsOf('text')}) return ;;`,
  ].join('\n');
}

function bashScript(commands: readonly CompletedCommand[]): string {
  const options = valueOptions(commands);
  const words = (list: string): string => `COMPREPLY=($(compgen -W ${quoted(list)} -- "$current"))`;
  const branches = commands.map(({ path, children, options: own }) => {
    const all = [...children.map(({ name }) => name), ...own.map(({ flag }) => flag), '--help'];
    return `    ${path === '' ? "''" : path}) ${words(all.join(' '))} ;;`;
  });
  return `# Completes chancery in bash: source <(chancery completion bash)
_chancery() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path='' index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    # The value of an option is no command.
    case "\${COMP_WORDS[index - 1]}" in
    ${options.map(({ flag }) => flag).join('|')}) continue ;;
    esac
    case "$path/\${COMP_WORDS[index]}" in
    ${pathPattern(commands)}) path="$path/\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$previous" in
${valueBranches(options, {
  words,
  file: 'COMPREPLY=($(compgen -f -- "$current"))',
  folder: 'COMPREPLY=($(compgen -d -- "$current"))',
})}
  esac
  case "$path" in
${branches.join('\n')}
  esac
}
# Where nothing of ours fits, it is a file.
complete -o default -F _chancery chancery
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const options = valueOptions(commands);
  const described = (name: string, description: string): string =>
    quoted(`${name.replaceAll(':', String.raw`\:`)}:${description.replaceAll(':', String.raw`\:`)}`);
  const branches = commands.map(({ path, children, options: own }) => {
    const all = [
      ...children.map(({ name, description }) => described(name, description)),
      ...own.map(({ flag, description }) => described(flag, description)),
    ];
    return `    ${path === '' ? "''" : path}) list=(${all.join(' ')}) ;;`;
  });
  return `#compdef chancery
# Completes chancery in zsh: chancery completion zsh > a file named _chancery in a folder of $fpath
_chancery() {
  local place='' index
  local -a list
  for ((index = 2; index < CURRENT; index++)); do
    # The value of an option is no command.
    case "$words[index-1]" in
    ${options.map(({ flag }) => flag).join('|')}) continue ;;
    esac
    case "$place/$words[index]" in
    ${pathPattern(commands)}) place="$place/$words[index]" ;;
    esac
  done
  case "$words[CURRENT-1]" in
${valueBranches(options, { words: (list) => `compadd -- ${list}`, file: '_files', folder: '_files -/' })}
  esac
  case "$place" in
${branches.join('\n')}
  esac
  _describe 'chancery' list || _files
}
_chancery "$@"
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => path);
  const options = valueOptions(commands);
  const lines = commands.flatMap(({ path, children, options: own }) => {
    const at = `complete -c chancery -n 'test (__chancery_path) = program${path}'`;
    return [
      ...children.map(({ name, description }) => `${at} -f -a ${name} -d ${fishQuoted(description)}`),
      ...own.map(
        (option) =>
          `${at} -l ${option.flag.slice(2)}${fishValue(option)} -d ${fishQuoted(option.description)}`,
      ),
    ];
  });
  return `# Completes chancery in fish: chancery completion fish | source
function __chancery_path
    set -l path ''
    set -l before ''
    for word in (commandline -opc)[2..]
        # The value of an option is no command.
        if not contains -- "$before" ${options.map(({ flag }) => flag).join(' ')}
            if contains -- "$path/$word" ${paths.join(' ')}
                set path "$path/$word"
            end
        end
        set before $word
    end
    echo "program$path"
end
${lines.join('\n')}
`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;
}

function fishValue({ kind, choices }: CompletedOption): string {
  if (choices.length > 0) return ` -x -a ${fishQuoted(choices.join(' '))}`;
  switch (kind) {
    case 'switch':
      return ' -f';
    case 'file':
      return ' -r -F';
    case 'folder':
      return " -x -a '(__fish_complete_directories)'";
    case 'text':
      return ' -x';
    default:
      return unreachable(kind);
  }
}
