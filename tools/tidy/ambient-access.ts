import { isProduct, type SourceFile } from './source-file.ts';
import type { Token } from './tokenize.ts';
import type { Violation } from './violation.ts';

interface Ambient {
  readonly rule: string;
  /** Consecutive tokens, separated by spaces. */
  readonly phrases: readonly string[];
  /** The starts of the paths that may use it. */
  readonly homes: readonly string[];
  readonly message: string;
}

/** Globals that any line could use without an import. Each must have one home, which tests can replace. */
const ambients: readonly Ambient[] = [
  {
    rule: 'environment',
    phrases: ['process . env', "process [ 'env' ]", 'process ?. env'],
    homes: ['src/config/config.ts'],
    message: 'only config.ts reads the environment',
  },
  {
    rule: 'exit',
    phrases: ['process . exit', 'process . exitCode', 'process . abort'],
    homes: ['src/main.ts'],
    message: 'only main.ts ends the process',
  },
  {
    rule: 'clock',
    phrases: [
      'Date . now',
      'new Date ( )',
      'performance . now',
      'performance . timeOrigin',
      'process . hrtime',
    ],
    homes: ['src/base/clock.ts'],
    message: 'the time comes from Clock',
  },
  {
    rule: 'randomness',
    phrases: ['Math . random', 'crypto . randomUUID', 'crypto . getRandomValues', 'crypto . subtle'],
    homes: ['src/base/'],
    message: 'randomness comes from base/',
  },
  {
    rule: 'terminal',
    phrases: ['stdout . write', '. stdout . write', 'stderr . write', '. stderr . write'],
    // Of main.ts: the stack of a bug, which ends the process.
    homes: ['src/cli/terminal/print.ts', 'src/base/', 'src/main.ts'],
    message: 'print.ts writes, as a terminal would obey texts of others',
  },
];

/** `new Date` without parentheses reads the time too, and destructuring `process` (`const { env } = process`) also counts as access. */
const newDate = ['new', 'Date'];

export function checkAmbientAccess(files: readonly SourceFile[]): readonly Violation[] {
  return files.filter((file) => isProduct(file.path)).flatMap(checkFile);
}

function checkFile(file: SourceFile): readonly Violation[] {
  return ambients
    .filter(({ homes }) => !homes.some((home) => file.path.startsWith(home)))
    .flatMap((ambient) =>
      file.tokens
        .filter((_, index) => usesAmbient(file.tokens, index, ambient))
        .map(({ line }) => ({ path: file.path, line, rule: ambient.rule, message: ambient.message })),
    );
}

function usesAmbient(tokens: readonly Token[], index: number, ambient: Ambient): boolean {
  const before = tokens[index - 1]?.text;
  // `this.process.env` is another `process`; `globalThis.process.env` is the global one.
  if ((before === '.' || before === '?.') && tokens[index - 2]?.text !== 'globalThis') return false;
  if (ambient.phrases.some((phrase) => startsPhrase(tokens, index, phrase.split(' ')))) return true;
  if (ambient.rule === 'environment' && tokens[index]?.text === 'process')
    return takesProcessApart(tokens, index);
  const isBareNewDate = startsPhrase(tokens, index, newDate) && tokens[index + 2]?.text !== '(';
  return ambient.rule === 'clock' && isBareNewDate && tokens[index + 2]?.text !== '.';
}

function startsPhrase(tokens: readonly Token[], index: number, phrase: readonly string[]): boolean {
  return phrase.every((text, offset) => tokens[index + offset]?.text === text);
}

function takesProcessApart(tokens: readonly Token[], index: number): boolean {
  return tokens[index - 1]?.text === '=' && tokens[index - 2]?.text === '}';
}
