import type { Worker } from 'node:worker_threads';
import { busy } from '../../base/errors.ts';
import { startThread } from '../../base/thread.ts';
import { PendingAnswers } from './pending-answers.ts';

/** A thread that answers questions about files, one after the other. It keeps the process alive only while it works. */
export class AnsweringThread<Question, Answer> {
  readonly #worker: Worker;
  readonly #pending = new PendingAnswers<Answer>();

  /** `name` is that of the thread, for debuggers. */
  constructor(url: URL, name: string) {
    this.#worker = startThread(url, { name });
    this.#worker.unref();
    // Only the thread's own file holds the other end.
    this.#worker.on('message', (message: Answer) => {
      this.#pending.settle(message);
      if (this.#pending.isEmpty) this.#worker.unref();
    });
    this.#worker.on('error', (cause) =>
      this.#pending.end(new Error(`The ${name} thread has died.`, { cause })),
    );
    this.#worker.on('exit', () => this.#pending.end(new Error(`The ${name} thread has ended.`)));
  }

  /** Why it answers no more, once it has ended. */
  get endError(): Error | undefined {
    return this.#pending.endError;
  }

  /** Rejects with `endError` when the thread ends before it has answered. */
  request(question: Question): Promise<Answer> {
    return this.#pending.add(() => {
      this.#worker.ref();
      this.#worker.postMessage(question, []);
    });
  }

  /** Ends the thread, and what it does now. */
  async stop(): Promise<void> {
    this.#pending.end(busy());
    await this.#worker.terminate();
  }
}
