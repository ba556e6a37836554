import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';

export const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** How a process ended: `code` when by itself, `signal` when a signal did it. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `node src/main.ts …` as an operator starts it: a process of its own, which ends with the test at the latest. */
export class MainProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #isClosed = false;

  constructor(args: readonly string[], environment: Environment = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CHANCERY_'));
    this.#child = spawn(process.execPath, [main, ...args], {
      env: { ...Object.fromEntries(inherited), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = this.#waitForEnd();
  }

  get hasEnded(): boolean {
    return this.#isClosed;
  }

  /** Whoever reads its log goes away, as a collector of logs may. */
  closeLog(): void {
    this.#child.stdout?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Its log so far. A line that is not JSON makes this throw, as it must not be there. */
  logLines(): readonly Readonly<Record<string, unknown>>[] {
    const lines = this.stdout.split('\n').slice(0, -1);
    // pino writes an object on each line; what is inside is checked where it is looked at.
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** The first line of the log that says this, as soon as it is there. */
  async waitForLog(text: RegExp): Promise<Readonly<Record<string, unknown>>> {
    const find = () => this.logLines().find(({ msg }) => text.test(String(msg)));
    await eventually(`the log says ${text}`, () => this.hasEnded || find() !== undefined);
    const line = find();
    if (line === undefined)
      throw new Error(`it ended without a word of ${text}: ${this.stdout}${this.stderr}`);
    return line;
  }

  async #waitForEnd(): Promise<Ended> {
    // 'close' and not 'exit': only then has everything been read that it wrote.
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
  const started = new MainProcess(args, environment);
  t.after(async () => {
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

export interface ServingMain {
  readonly process: MainProcess;
  readonly url: string;
}

/** Starts the server on a free port over this data directory; gives it when it listens. */
export async function serveMain(
  t: TestContext,
  data: string,
  { flags = [], environment = {} }: { flags?: readonly string[]; environment?: Environment } = {},
): Promise<ServingMain> {
  const started = startMain(t, ['serve', '--data', data, '--port', '0', '--dev', ...flags], environment);
  const { url } = await started.waitForLog(/listens on/);
  return { process: started, url: String(url) };
}
