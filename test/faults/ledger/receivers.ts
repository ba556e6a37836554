import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FromReceivers, LedgerReceipt, ToReceivers } from './receiver-process.ts';
import type { ReceiverScript } from './receiver-scripts.ts';

const entry = fileURLToPath(new URL('receiver-process.ts', import.meta.url));
/** Only what never comes must fail, on a slow and busy machine too. */
const answerMsMax = 60_000;
/** Longer than any connection of a dead process stays open on loopback. */
const quietMsMax = 10_000;
/** While others send, so long after a death what it had sent is in. */
const settleMs = 150;

/** The process of the receivers, which outlives the servers. */
export class Receivers {
  readonly #child: ChildProcess;
  readonly #journal: string;
  #isStopping = false;
  /** One question at a time: answers carry no number. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(journal: string) {
    this.#journal = journal;
    this.#child = fork(entry, [journal], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    // Without them a run would go on, and look like one whose receivers are all away.
    this.#child.once('exit', (code, signal) => {
      if (!this.#isStopping) throw new Error(`the receivers ended with ${String(code ?? signal)}`);
    });
  }

  /** Opens a receiver and returns its port. It plays its script from `begin` on. */
  async open(name: string, script: ReceiverScript): Promise<number> {
    const answer = await this.#ask({ kind: 'open', name, script });
    return answer.kind === 'opened' ? answer.port : 0;
  }

  /** Lets a receiver take what is signed with this secret as well. */
  async addSecret(name: string, secret: string): Promise<void> {
    await this.#ask({ kind: 'secret', name, secret });
  }

  async begin(): Promise<void> {
    await this.#ask({ kind: 'begin' });
  }

  async heal(): Promise<void> {
    await this.#ask({ kind: 'heal' });
  }

  /** Returns how many requests have arrived once all that dead servers have sent is in. */
  async mark({ isAnyoneLeft }: { readonly isAnyoneLeft: boolean }): Promise<number> {
    const answer = await this.#ask({ kind: 'mark', waitMs: isAnyoneLeft ? settleMs : quietMsMax });
    if (answer.kind !== 'marked') return 0;
    if (!isAnyoneLeft && !answer.isQuiet) throw new Error('connections of a dead server stay open');
    return answer.lines;
  }

  /** Returns all that was received so far. */
  receipts(): readonly LedgerReceipt[] {
    const lines = readFileSync(this.#journal, 'utf8').split('\n').slice(0, -1);
    // The cast holds: only the receivers' process writes the file.
    return lines.map((line) => JSON.parse(line) as LedgerReceipt);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #ask(question: ToReceivers): Promise<FromReceivers> {
    const asked = this.#last.then(() => this.#send(question));
    this.#last = asked.catch(() => undefined);
    return asked;
  }

  async #send(question: ToReceivers): Promise<FromReceivers> {
    const answered = once(this.#child, 'message', { signal: AbortSignal.timeout(answerMsMax) });
    this.#child.send(question);
    // The cast holds: the process sends nothing else.
    const [answer] = (await answered) as [FromReceivers];
    return answer;
  }
}
