import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CrashingServerOptions } from './crashing-server.ts';

const entry = fileURLToPath(new URL('crashing-server.ts', import.meta.url));
/** A server on these small databases is up in half a second; a slow and busy machine takes many times that. */
const startMsMax = 60_000;

/** What runs would outlive a test process that ends early, and keep the whole run waiting for its output. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface ServerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A server in a process of its own, which may die. */
export class ServerProcess {
  readonly url: string;
  /** Milliseconds from its start to its first listening. */
  readonly readyMs: number;
  readonly ended: Promise<ServerEnd>;
  /** What it logged as warnings and errors. */
  readonly log: string[];
  /** What it has printed after that it listens, but for lines of the log. */
  readonly printed: string[];
  readonly #child: ChildProcess;

  private constructor(
    child: ChildProcess,
    started: Pick<ServerProcess, 'url' | 'readyMs' | 'ended' | 'log' | 'printed'>,
  ) {
    this.#child = child;
    this.url = started.url;
    this.readyMs = started.readyMs;
    this.ended = started.ended;
    this.log = started.log;
    this.printed = started.printed;
  }

  static async start(
    options: CrashingServerOptions,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    const startedMs = performance.now();
    const child = spawn(process.execPath, [entry, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    running.add(child);
    const ended = new Promise<ServerEnd>((resolve) => {
      child.once('exit', (code, signal) => {
        running.delete(child);
        resolve({ code, signal });
      });
    });
    const log: string[] = [];
    child.stderr.setEncoding('utf8').on('data', (text: string) => log.push(text));
    const printed: string[] = [];
    const url = await firstLine(child, (line) => void (line.startsWith('{') ? log : printed).push(line));
    if (url === undefined) throw new Error(`The server did not start: ${log.join('')}`);
    return new ServerProcess(child, { url, readyMs: performance.now() - startedMs, ended, log, printed });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** For /proc. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  signal(signal: 'SIGKILL' | 'SIGTERM'): Promise<ServerEnd> {
    this.#child.kill(signal);
    return this.ended;
  }
}

/** Returns the first line; `onLine` gets those after it. Undefined when there is none. */
async function firstLine(child: ChildProcess, onLine: (line: string) => void): Promise<string | undefined> {
  if (child.stdout === null) return undefined;
  const timer = setTimeout(() => child.kill('SIGKILL'), startMsMax);
  const first = Promise.withResolvers<string | undefined>();
  let isFirst = true;
  createInterface({ input: child.stdout })
    .on('line', (line) => {
      // A thread may log before the process listens.
      if (!isFirst || line.startsWith('{')) return onLine(line);
      isFirst = false;
      first.resolve(line);
    })
    .once('close', () => first.resolve(undefined));
  const line = await first.promise;
  clearTimeout(timer);
  return line;
}
