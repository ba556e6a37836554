import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import type { CommandResult } from './run-in-process.ts';

export const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** How a process ended: `code` if by itself, `signal` if a signal ended it. */
export interface Ended extends CommandResult {
  readonly signal: NodeJS.Signals | null;
}

export interface Means {
  /** In place of `node src/main.ts`. */
  readonly program?: readonly string[];
  /** The working directory, in place of ours. */
  readonly folder?: string;
  /** All of its standard input; without it there is none. */
  readonly input?: string;
  /** The process may have only so many files open. */
  readonly openFilesMax?: number;
}

/** `node src/main.ts …` in a process of its own, as an operator starts it. It ends with the test at the latest. */
export class MainProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #isClosed = false;

  constructor(args: readonly string[], environment: Environment = {}, means: Means = {}) {
    const { program = [process.execPath, main], folder, input, openFilesMax } = means;
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CHANCERY_'));
    const limited = ['sh', '-c', `ulimit -n ${openFilesMax} && exec "$0" "$@"`];
    const command = [...(openFilesMax === undefined ? [] : limited), ...program, ...args];
    this.#child = spawn(command[0] ?? '', command.slice(1), {
      env: { ...Object.fromEntries(inherited), ...environment },
      cwd: folder,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.#child.stdin?.end(input);
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = this.#waitForEnd();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#isClosed;
  }

  /** Closes the reading end of its log, as a failing log collector would. */
  closeLog(): void {
    this.#child.stdout?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Returns its log so far. Throws for a line that is not JSON, as there must be none. */
  logLines(): readonly Readonly<Record<string, unknown>>[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    // The cast holds: pino writes an object per line. Its members are unknown.
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Waits for the first line of the log whose message matches. */
  async waitForLog(text: RegExp): Promise<Readonly<Record<string, unknown>>> {
    const find = () => this.logLines().find(({ msg }) => text.test(String(msg)));
    await eventually(`the log says ${text}`, () => this.hasEnded || find() !== undefined);
    const line = find();
    if (line === undefined)
      throw new Error(`it ended without a word of ${text}: ${this.stdout}${this.stderr}`);
    return line;
  }

  async #waitForEnd(): Promise<Ended> {
    // 'close' rather than 'exit': only then has all of its output been read.
    await once(this.#child, 'close');
    this.#isClosed = true;
    const { exitCode: code, signalCode: signal } = this.#child;
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

export function startMain(
  t: TestContext,
  args: readonly string[],
  environment: Environment = {},
): MainProcess {
  return endWith(t, new MainProcess(args, environment));
}

/** Has a process end with the test. */
export function endWith(t: TestContext, started: MainProcess): MainProcess {
  atEnd(t, async () => {
    started.kill('SIGKILL');
    await started.ended;
  });
  return started;
}

/** Runs a command to its end. */
export function runMain(
  t: TestContext,
  args: readonly string[],
  environment: Environment = {},
): Promise<Ended> {
  return startMain(t, args, environment).ended;
}

/** Runs a command with this on its standard input to its end. */
export function runMainWith(t: TestContext, args: readonly string[], input: string): Promise<Ended> {
  const started = new MainProcess(args, {}, { input });
  atEnd(t, () => started.kill('SIGKILL'));
  return started.ended;
}

export interface ServingMain {
  readonly process: MainProcess;
  readonly url: string;
}

/** Starts the server on a free port over this data directory; resolves when it listens. */
export async function serveMain(
  t: TestContext,
  data: string,
  { flags = [], environment = {} }: { flags?: readonly string[]; environment?: Environment } = {},
): Promise<ServingMain> {
  const started = startMain(t, ['serve', '--data', data, '--port', '0', '--dev', ...flags], environment);
  const { url } = await started.waitForLog(/listens on/);
  return { process: started, url: String(url) };
}
