import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReceivedWebhook, ReceiverMessage, SecretMessage } from './receiver-message.ts';

const mainPath = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const receiverPath = fileURLToPath(new URL('../demo-receiver.ts', import.meta.url));
/** How long a process may take to stop before it is killed. A server takes milliseconds. */
const stopMs = 4_000;

/** The processes of the demo. They are ended together, the newest first. */
export class ChildProcesses {
  readonly #children: ChildProcess[] = [];
  #isStopping = false;

  /** Runs a command of Chancery to its end; returns its output. */
  async run(...args: readonly string[]): Promise<string> {
    const child = this.#spawnMain(args);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    await once(child, 'close');
    if (child.exitCode === 0) return stdout().trim();
    throw new Error(`chancery ${args.join(' ')} failed: ${stderr().trim()}`);
  }

  /** Starts the server on a free port; returns its URL once it listens. */
  async startService(dataDirectory: string): Promise<string> {
    const child = this.#spawnMain(['serve', '--port', '0', '--dev', '--data', dataDirectory]);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    return new Promise((resolve, reject) => {
      child.stdout?.on('data', () => {
        const [, url] = /"url":"([^"]+)"/.exec(stdout()) ?? [];
        if (url !== undefined) resolve(url);
      });
      child.on('close', () => reject(new Error(`The service ended before it listened: ${stderr().trim()}`)));
    });
  }

  /** Starts the receiver on a free port. */
  async startReceiver(onWebhook: (webhook: ReceivedWebhook) => void): Promise<StartedReceiver> {
    const child = fork(receiverPath, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.#children.push(child);
    const url = await new Promise<string>((resolve, reject) => {
      child.on('message', (message: ReceiverMessage) => {
        if (message.kind === 'listening') resolve(message.url);
        else onWebhook(message.webhook);
      });
      child.on('close', () => reject(new Error('The receiver ended before it listened.')));
    });
    const setSecret = (secret: string): void => {
      const message: SecretMessage = { secret };
      child.send(message);
    };
    return { url, setSecret };
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), stopMs);
      await closed;
      clearTimeout(force);
    }
  }

  #spawnMain(args: readonly string[]): ChildProcess {
    if (this.#isStopping) throw new Error('The demo is stopping.');
    // Without the CHANCERY_ variables of the user's environment, which would change the demo.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CHANCERY_'));
    const child = spawn(process.execPath, [mainPath, ...args], {
      env: Object.fromEntries(own),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    return child;
  }
}

export interface StartedReceiver {
  readonly url: string;
  setSecret(secret: string): void;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text;
}
