import {
  abortedResult,
  type AttemptRequest,
  type AttemptResult,
  type ReceiverTls,
} from '../../src/sending/attempt-result.ts';
import type { DispatcherOptions } from '../../src/dispatch/dispatcher.ts';

export type SenderPort = DispatcherOptions['sender'];
type Answer = Partial<Omit<AttemptResult, 'deliveryId'>>;

/** Answers of receivers. */
export const answers = {
  ok: { isSuccess: true, kind: 'success', status: 200, cause: '' },
  down: { kind: 'status', status: 500, isEndpointWide: true, cause: 'Status 500.' },
  missing: { kind: 'status', status: 404, cause: 'Status 404.' },
  silent: { kind: 'timeout', isEndpointWide: true, cause: 'No answer.' },
} as const satisfies Readonly<Record<string, Answer>>;

/** In the place of the sending thread: keeps what it is given until it is told that it has arrived, or answers it by itself. */
export class HeldSender implements SenderPort {
  readonly given: AttemptRequest[] = [];
  /** When it is set, every request gets this answer in the next turn of the event loop. */
  answer: Answer | undefined;
  /** What is answered to endpoints with these ids instead. */
  readonly answerOf = new Map<string, Answer>();
  #open = 0;
  /** The most requests that were open at once, of those that it has answered by itself. */
  openMost = 0;
  /** Whether receivers can be connected to. */
  isReached = false;
  /** How many handshakes were asked for, and how TLS was to be in the last one. */
  handshakes = 0;
  handshakeTls: ReceiverTls | undefined;
  #listener: (results: readonly AttemptResult[]) => void = () => undefined;
  readonly #real: SenderPort | undefined;

  constructor(real?: SenderPort) {
    this.#real = real;
  }

  send(requests: readonly AttemptRequest[]): void {
    this.given.push(...requests);
    const { answer } = this;
    if (answer === undefined) return;
    this.#open += requests.length;
    this.openMost = Math.max(this.openMost, this.#open);
    setImmediate(() => {
      this.#open -= requests.length;
      const groups = Map.groupBy(requests, ({ endpointId }) => this.answerOf.get(endpointId) ?? answer);
      for (const [own, group] of groups) this.end(group, own);
    });
  }

  /** Requests for nobody but the caller are not held. */
  request(request: AttemptRequest): Promise<AttemptResult> {
    const none = { deliveryId: request.deliveryId, ...abortedResult(0, 'No real sender.') };
    return this.#real?.request(request) ?? Promise.resolve(none);
  }

  onResults(listener: (results: readonly AttemptResult[]) => void): void {
    this.#listener = listener;
  }

  succeed(requests: readonly AttemptRequest[]): void {
    this.end(requests, answers.ok);
  }

  /** One that says nothing of the endpoint. */
  fail(requests: readonly AttemptRequest[]): void {
    this.end(requests, { kind: 'status', status: 500 });
  }

  end(requests: readonly AttemptRequest[], answer: Answer): void {
    const rest = { ...abortedResult(0, ''), ...answer };
    this.#listener(requests.map(({ deliveryId }) => ({ ...rest, deliveryId })));
  }

  handshake(_url: string, tls?: ReceiverTls): Promise<boolean> {
    this.handshakes += 1;
    this.handshakeTls = tls;
    return Promise.resolve(this.isReached);
  }

  async stop(graceMs: number): Promise<void> {
    await this.#real?.stop(graceMs);
  }
}
