import { getHeapStatistics } from 'node:v8';
import type { Transferable, Worker } from 'node:worker_threads';
import { AppError, busy } from '../base/errors.ts';
import type { LongTurn } from '../base/turn-meter.ts';
import type { Logger } from '../base/logger.ts';
import { startThread } from '../base/thread.ts';
import type { Answer } from '../http/answer.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import { clientAddress, type ClientTraces } from '../http/client-address.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { DueTimes } from '../instances/due-index.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { Settings } from '../settings/settings.ts';
import { faultAmong, type FaultyPlaces, type StorageFault } from '../storage/storage-health.ts';
import type { HostMember } from './host-member.ts';
import { closeAnswer, fromAnswerMessage } from './message-answers.ts';
import {
  type AnswerMessage,
  type FromHost,
  type HostSettings,
  type MetricMessage,
  type Question,
  type ReplyMessage,
  type RequestMessage,
  toErrorMessage,
  type ToHost,
} from './host-messages.ts';
import { readFormFor } from './forms.ts';
import { writeOrLog } from './pool-metrics.ts';
import { lookMs, Pulse } from './pulse.ts';
import { RequestClaims } from './request-claims.ts';
import { toLoggedMessage, toRequestMessage } from './request-messages.ts';

const workerUrl = new URL('./host-worker.ts', import.meta.url);

const restartMsMin = 200;
const restartMsMax = 5_000;
/** A host that has not turned for so long is ended, and started again. */
const hungMsMax = 60_000;
const stopMsMax = 30_000;
/** What the process may have. */
const heapMb = Math.floor(getHeapStatistics().heap_size_limit / 1024 ** 2);
/** From here on, bytes are handed over instead of copied. */
const handedOverBytesMin = 64 * 1024;

export interface HostThreadOptions extends Omit<HostSettings, 'claims' | 'beats'> {
  readonly logger: Logger;
  /** The file that runs in the thread, for tests that wrap parts of it. */
  readonly file?: URL | undefined;
  /** Of its JavaScript heap; that of the process by default. */
  readonly heapMbMax?: number | undefined;
  readonly onLongTurn: (turn: LongTurn) => void;
  /** Called with what is due in an instance that was closed. */
  readonly onClosed: (instanceId: string, times: DueTimes) => void;
  /** Writes the metrics of the whole process. */
  readonly write: () => Promise<Exposition>;
}

interface Waiting {
  readonly route: InstanceRoute;
  readonly request: InstanceRequest;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A host in a thread of its own, as the front sees it. It answers every request, whatever the host does: when the thread does not turn for
 * longer than a query may take, or when it ends, requests that it has not taken are refused, reads as well, and writes that it has taken
 * are answered with an unknown outcome. A thread that ended is started again.
 */
export class HostThread implements HostMember {
  readonly #options: HostThreadOptions;
  readonly #claims: RequestClaims;
  readonly #memory = RequestClaims.newMemory();
  readonly #placed = new Set<string>();
  /** By token. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #questions = new Map<number, (reply: ReplyMessage | undefined) => void>();
  readonly #pulse: Pulse;
  #worker: Worker;
  #opening = Promise.withResolvers<void>();
  #isOpen = false;
  #stops: ((what: 'sending' | 'all') => void)[] = [];
  /** By instance: which headers of proxies it trusts. */
  readonly #trustedProxies = new Map<string, Settings['trustedProxy']>();
  #nextToken = 0;
  #faulty: FaultyPlaces | undefined;
  #outbox: RequestMessage[] = [];
  #transferred: Transferable[] = [];
  #restartMs = restartMsMin;
  #isStopping = false;
  readonly #looks: NodeJS.Timeout;

  constructor(options: HostThreadOptions) {
    this.#options = options;
    this.#claims = new RequestClaims(this.#memory);
    this.#pulse = new Pulse(options.config.queryTimeoutMs + 1_000);
    this.#worker = this.#start();
    this.#looks = setInterval(() => this.#look(), lookMs).unref();
  }

  /** Resolves when it runs instances. Rejects when it cannot be opened. */
  get opened(): Promise<void> {
    return this.#opening.promise;
  }

  get placedCount(): number {
    return this.#placed.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Whether its event loop has not turned for longer than a query may take. */
  get isHung(): boolean {
    return this.#pulse.isStill;
  }

  /** Why data that an instance needs cannot be used as it should be. */
  faultOf(instance: string | undefined): StorageFault | undefined {
    if (this.isHung) return 'unavailable';
    return this.#faulty && faultAmong(this.#faulty, instance);
  }

  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array {
    const settings = entry === null ? undefined : this.#trustedProxies.get(entry.id);
    if (settings === undefined) return traces.peer;
    return clientAddress(traces, { proxies: this.#options.config.trustedProxies, settings });
  }

  place(ids: readonly string[]): void {
    for (const id of ids) this.#placed.add(id);
    if (this.#isOpen) this.#post({ kind: 'place', ids });
  }

  async serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer> {
    if (this.isHung || this.#isStopping) throw busy();
    if (!this.#isOpen) await this.#untilOpen();
    const token = this.#newToken();
    this.#claims.open(token);
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(token, { route, request, resolve: answer.resolve, reject: answer.reject });
    request.signal.addEventListener('abort', () => this.#leave(token), { once: true });
    if (this.#outbox.length === 0) setImmediate(() => this.#flush());
    const buffer = request.bytes?.buffer;
    const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === request.bytes?.length;
    if (isWhole && buffer.byteLength >= handedOverBytesMin) this.#transferred.push(buffer);
    this.#outbox.push(toRequestMessage(token, route, request));
    return answer.promise;
  }

  /** Throws unavailable when it cannot be opened. */
  async #untilOpen(): Promise<void> {
    try {
      await this.#opening.promise;
    } catch {
      // Its reason is in the log.
      throw busy();
    }
  }

  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    if (request.report.isNoted || !this.#isOpen) return;
    const message = { entry, request: toLoggedMessage(request), error: toErrorMessage(error) };
    this.#post({ kind: 'refusal', ...message });
  }

  async leave(id: string): Promise<boolean> {
    const reply = await this.#ask({ kind: 'leave', id });
    const hasLeft = reply?.kind === 'done' && reply.isDone;
    if (hasLeft) this.#placed.delete(id);
    return hasLeft;
  }

  async visit(entry: InstanceEntry): Promise<boolean> {
    const reply = await this.#ask({ kind: 'visit', entry });
    return reply?.kind === 'done' && reply.isDone;
  }

  /** Returns no sites while it cannot answer. */
  async frameAncestors(entry: InstanceEntry): Promise<readonly string[]> {
    const reply = await this.#ask({ kind: 'frameAncestors', entry });
    return reply?.kind === 'sites' ? reply.sites : [];
  }

  async metrics(): Promise<readonly MetricMessage[]> {
    const reply = await this.#ask({ kind: 'metrics' });
    return reply?.kind === 'counts' ? reply.metrics : [];
  }

  /** Returns undefined where it cannot answer. */
  #ask(question: Question): Promise<ReplyMessage | undefined> {
    if (!this.#isOpen || this.isHung) return Promise.resolve(undefined);
    const token = this.#newToken();
    const { promise, resolve } = Promise.withResolvers<ReplyMessage | undefined>();
    this.#questions.set(token, resolve);
    this.#post({ token, ...question });
    return promise;
  }

  #newToken(): number {
    const token = this.#nextToken;
    this.#nextToken += 1;
    return token;
  }

  async stopSending(): Promise<void> {
    if (this.#isOpen) await this.#stop('sending');
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looks);
    if (this.#isOpen) await this.#stop('all');
    await this.#worker.terminate();
  }

  async #stop(what: 'sending' | 'all'): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    const timer = setTimeout(stopped.resolve, this.#options.config.stopTimeoutMs + stopMsMax);
    this.#stops.push((ended) => {
      if (ended === what) stopped.resolve();
    });
    this.#post({ kind: what === 'all' ? 'stop' : 'stopSending' });
    await stopped.promise;
    clearTimeout(timer);
  }

  #start(): Worker {
    const { logger, file = workerUrl, heapMbMax = heapMb } = this.#options;
    const { config, place, memoryBytes, slotsMax } = this.#options;
    const workerData: HostSettings = {
      config,
      place,
      memoryBytes,
      slotsMax,
      claims: this.#memory,
      beats: this.#pulse.memory,
    };
    const worker = startThread(file, {
      workerData,
      name: `host ${place}`,
      // As much as the process would have for all of its instances, so that one that takes more ends this thread alone.
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    });
    // Only host-worker.ts holds the other end.
    worker.on('message', (message: FromHost) => this.#receive(message));
    worker.on('error', (error) => logger.error('A host thread failed.', { host: place, error }));
    worker.on('exit', () => this.#restart());
    return worker;
  }

  #restart(): void {
    this.#isOpen = false;
    this.#pulse.reset();
    for (const stopped of this.#stops) {
      stopped('sending');
      stopped('all');
    }
    this.#giveUpAll();
    this.#outbox = [];
    this.#transferred = [];
    if (this.#isStopping) return;
    this.#opening = Promise.withResolvers();
    this.#opening.promise.catch(() => undefined);
    const delayMs = this.#restartMs;
    this.#restartMs = Math.min(delayMs * 2, restartMsMax);
    const members = { host: this.#options.place, delayMs };
    this.#options.logger.warn('A host thread ended and is restarted.', members);
    setTimeout(() => {
      if (!this.#isStopping) this.#worker = this.#start();
    }, delayMs);
  }

  #receive(message: FromHost): void {
    switch (message.kind) {
      case 'ready':
        this.#isOpen = true;
        this.#restartMs = restartMsMin;
        if (this.#placed.size > 0) this.#post({ kind: 'place', ids: [...this.#placed] });
        this.#opening.resolve();
        return;
      case 'failed':
        this.#options.logger.error(`A host cannot be opened: ${message.reason}`, {
          host: this.#options.place,
        });
        this.#opening.reject(new Error(message.reason));
        // What it has opened goes with the thread.
        void this.#worker.terminate();
        return;
      case 'answers':
        for (const answer of message.answers) this.#answer(answer);
        return;
      case 'form':
        this.#readForm(message);
        return;
      case 'sites':
      case 'counts':
      case 'done':
        this.#questions.get(message.token)?.(message);
        this.#questions.delete(message.token);
        return;
      case 'closed':
        this.#options.onClosed(message.id, message.times);
        return;
      case 'longTurn':
        this.#options.onLongTurn(message.turn);
        return;
      case 'expose':
        void this.#expose(message.token);
        return;
      case 'faults':
        this.#faulty = message.places;
        return;
      case 'stopped':
        for (const stopped of this.#stops) stopped(message.what);
    }
  }

  #readForm({ token, bytesMax, port }: FromHost & { kind: 'form' }): void {
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) port.close();
    else void readFormFor(waiting.request, bytesMax, port);
  }

  async #expose(token: number): Promise<void> {
    this.#post({ kind: 'exposition', token, exposition: await writeOrLog(this.#options) });
  }

  #answer({ token, report, answer }: AnswerMessage): void {
    const waiting = this.#waiting.get(token);
    // It was given up, and answered.
    if (waiting === undefined) return closeAnswer(answer);
    this.#waiting.delete(token);
    const { address, trustedProxy } = report;
    if (trustedProxy !== null) this.#trustedProxies.set(waiting.request.entry.id, trustedProxy);
    Object.assign(waiting.request.report, report, { address: address === null ? null : () => address });
    try {
      waiting.resolve(fromAnswerMessage(answer));
    } catch (error) {
      // It carries the answer to a failure.
      waiting.reject(error as Error);
    }
  }

  #leave(token: number): void {
    if (this.#waiting.has(token) && this.#isOpen) this.#post({ kind: 'gone', token });
  }

  #flush(): void {
    if (this.#outbox.length === 0) return;
    const [requests, transferred] = [this.#outbox, this.#transferred];
    this.#outbox = [];
    this.#transferred = [];
    this.#post({ kind: 'requests', requests }, transferred);
  }

  #look(): void {
    const { place: host, logger } = this.#options;
    // One that is being opened may take its time.
    if (!this.#isOpen) {
      this.#pulse.reset();
      return;
    }
    const change = this.#pulse.look();
    if (change === 'back') logger.warn('A host thread responds again.', { host });
    if (change === 'stopped')
      logger.error('A host thread is blocked: its requests are rejected.', {
        host,
        requests: this.#waiting.size,
      });
    if (!this.isHung) return;
    this.#giveUpAll();
    if (this.#pulse.stillMs < hungMsMax) return;
    this.#pulse.reset();
    logger.error('A host thread was blocked for a minute and is terminated.', { host });
    void this.#worker.terminate();
  }

  #giveUpAll(): void {
    for (const [token, { route, reject }] of this.#waiting) {
      const isTaken = !this.#claims.giveUp(token);
      reject(isTaken && route.method !== 'GET' ? unknownOutcome() : busy());
    }
    this.#waiting.clear();
    for (const resolve of this.#questions.values()) resolve(undefined);
    this.#questions.clear();
  }

  #post(message: ToHost, transferred: readonly Transferable[] = []): void {
    this.#worker.postMessage(message, transferred);
  }
}

function unknownOutcome(): AppError {
  return new AppError('outcome_unknown', 'It is not known whether the change was made.');
}
