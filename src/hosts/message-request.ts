import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import type { Ledger } from '../base/ledger.ts';
import { AnswerMemory } from '../http/answer-memory.ts';
import { emptyReport, type FormReading, type InstanceRequest } from '../http/instance-request.ts';
import type { FormEntry } from '../http/parse-multipart.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import { type FromForm, fromErrorMessage, type RequestMessage, type ToForm } from './host-messages.ts';
import { PortReader } from './port-streams.ts';

/** The way back to the front, for one request. */
export interface RequestWays {
  /** Makes the front read the form, whose parts come over the port. */
  readonly requestForm: (bytesMax: number, port: MessagePort) => void;
  /** The memory of answers in this host. */
  readonly memory: Ledger;
}

/** A request that the front has sent to the host in this thread. */
export class MessageRequest implements InstanceRequest {
  readonly id: string;
  readonly entry: InstanceEntry;
  readonly isOperator: boolean;
  readonly method: string;
  readonly url: string;
  readonly fullUrl: string;
  readonly headers: InstanceRequest['headers'];
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly peer: Uint8Array;
  readonly startedMs: number;
  readonly bytes: Buffer | undefined;
  readonly isFormWaiting: boolean;
  readonly report = emptyReport();
  bodyBytes: number;
  readonly #ways: RequestWays;
  readonly #departure = new AbortController();
  /** The memory of the answer; undefined until some is needed. */
  answerMemory: AnswerMemory | undefined;

  constructor(message: RequestMessage, ways: RequestWays) {
    const { url, bytes } = message;
    this.#ways = ways;
    this.id = message.id;
    this.entry = message.entry;
    this.isOperator = message.isOperator;
    this.method = message.method;
    this.url = url;
    this.fullUrl = message.fullUrl;
    this.headers = message.headers;
    this.params = message.params;
    this.query = new URLSearchParams(/\?(.*)/s.exec(url)?.[1] ?? '');
    this.peer = message.peer;
    this.startedMs = systemClock.monotonic() - message.ageMs;
    this.bytes = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.isFormWaiting = message.isFormWaiting;
    this.bodyBytes = message.bodyBytes;
  }

  get signal(): AbortSignal {
    return this.#departure.signal;
  }

  get isGone(): boolean {
    return this.#departure.signal.aborted;
  }

  /** Called when the client has gone away. */
  leave(): void {
    this.#departure.abort();
  }

  memoryFor(client: string): AnswerMemory {
    const share = { instance: this.entry.id, address: client, signal: this.signal };
    return (this.answerMemory ??= new AnswerMemory(this.#ways.memory, share));
  }

  /** Releases memory of an answer that is not being sent. */
  release(): void {
    this.answerMemory?.release();
  }

  readForm({ bytesMax, takeFile }: FormReading): Promise<readonly FormEntry[] | undefined> {
    const { port1: port, port2: other } = new MessageChannel();
    const form = Promise.withResolvers<readonly FormEntry[] | undefined>();
    const take = async ({ name, originalName, content }: ToForm & { kind: 'file' }): Promise<void> => {
      const reader = new PortReader(content);
      try {
        reply(port, await takeFile({ name, originalName, content: reader }));
      } catch (error) {
        form.reject(error);
        reply(port, undefined);
      } finally {
        reader.destroy();
      }
    };
    // Only the front holds the other end.
    port.on('message', (message: ToForm) => {
      if (message.kind === 'file') {
        void take(message);
        return;
      }
      this.bodyBytes = message.bytes;
      if (message.kind === 'fields') form.resolve(message.fields);
      else form.reject(fromErrorMessage(message.error));
      port.close();
    });
    port.once('close', () => form.reject(fromErrorMessage(undefined)));
    this.#ways.requestForm(bytesMax, other);
    return form.promise;
  }
}

function reply(port: MessagePort, size: number | undefined): void {
  const message: FromForm = { size };
  port.postMessage(message, []);
}
