import type { Worker } from 'node:worker_threads';
import { busy } from '../../base/errors.ts';
import { startThread } from '../../base/thread.ts';

/** A thread that answers questions about files, one after the other. It keeps the process alive only while it works. */
export class AnsweringThread<Question, Answer> {
  readonly #worker: Worker;
  /** The pending requests, in the order in which they were sent. */
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  #endError: Error | undefined;

  /** `name` is that of the thread, for debuggers. */
  constructor(url: URL, name: string) {
    this.#worker = startThread(url, { name });
    this.#worker.unref();
    // Only the thread's own file holds the other end.
    this.#worker.on('message', (message: Answer) => {
      this.#waiting.shift()?.resolve(message);
      if (this.#waiting.length === 0) this.#worker.unref();
    });
    this.#worker.on('error', (cause) => this.#end(new Error(`The ${name} thread has died.`, { cause })));
    this.#worker.on('exit', () => this.#end(new Error(`The ${name} thread has ended.`)));
  }

  /** Why it answers no more, once it has ended. */
  get endError(): Error | undefined {
    return this.#endError;
  }

  /** Rejects with `endError` when the thread ends before it has answered. */
  request(question: Question): Promise<Answer> {
    if (this.#endError !== undefined) return Promise.reject(this.#endError);
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.push(answer);
    this.#worker.ref();
    this.#worker.postMessage(question, []);
    return answer.promise;
  }

  /** Ends the thread, and what it does now. */
  async stop(): Promise<void> {
    this.#end(busy());
    await this.#worker.terminate();
  }

  #end(error: Error): void {
    this.#endError ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#endError);
  }
}
