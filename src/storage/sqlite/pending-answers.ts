/** Requests whose answers come in the order in which they were sent, until whoever answers them has ended. */
export class PendingAnswers<Answer> {
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  #endError: Error | undefined;

  /** Why there are no more answers, once that is so. */
  get endError(): Error | undefined {
    return this.#endError;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Adds a request, which `send` sends, unless no answer can come. Rejects with `endError` when none does. */
  add(send: () => void): Promise<Answer> {
    if (this.#endError !== undefined) return Promise.reject(this.#endError);
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.push(answer);
    send();
    return answer.promise;
  }

  /** Notes the answer to the oldest request. */
  settle(answer: Answer): void {
    this.#waiting.shift()?.resolve(answer);
  }

  /** Rejects all requests, with the error of the first call. */
  end(error: Error): void {
    this.#endError ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#endError);
  }
}
