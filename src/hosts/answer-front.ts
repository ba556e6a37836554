import type { MessagePort, Transferable } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { Ledger } from '../base/ledger.ts';
import type { Logger } from '../base/logger.ts';
import { toErrorAnswer } from '../http/error-response.ts';
import { emptyReport } from '../http/instance-request.ts';
import type { Readiness } from '../http/request-context.ts';
import { ErrorLog } from '../http/server/error-log.ts';
import { instanceRoutes } from '../http/server/routes.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { DataDirectory } from '../open-data-directory.ts';
import type { Settings } from '../settings/settings.ts';
import type { StorageHealth } from '../storage/storage-health.ts';
import { toAnswerMessage } from './answer-messages.ts';
import {
  type AnswerMessage,
  type FromHost,
  fromErrorMessage,
  type HostSettings,
  type ReportMessage,
  type RequestMessage,
  type ToHost,
} from './host-messages.ts';
import { MessageRequest } from './message-request.ts';
import { Placements } from './placements.ts';
import type { PlacedHost } from './placed-host.ts';
import { RequestClaims } from './request-claims.ts';

/** How often changes of what is at fault are reported. */
const faultsMs = 500;

export interface AnswerFrontParts {
  readonly port: MessagePort;
  readonly settings: HostSettings;
  readonly logger: Logger;
}

interface Opened {
  readonly data: DataDirectory;
  readonly host: PlacedHost;
}

/** Takes the messages of the front, runs what they ask for, and answers. */
export class AnswerFront {
  readonly #port: MessagePort;
  readonly #claims: RequestClaims;
  readonly #errors: ErrorLog;
  readonly #logger: Logger;
  readonly #memory: Ledger;
  /** The instances that the front has placed here. */
  readonly placements = new Placements();
  /** By token. */
  readonly #running = new Map<number, MessageRequest>();
  readonly #expositions = new Map<number, PromiseWithResolvers<Exposition>>();
  /** By instance: what the front knows. */
  readonly #trustedProxies = new Map<string, Settings['trustedProxy']>();
  #nextExposition = 0;
  #answers: AnswerMessage[] = [];
  #transferred: Transferable[] = [];
  #opened: Opened | undefined;
  #isStopping = false;
  #reportedFaults = '';
  #faultsTimer: NodeJS.Timeout | undefined;

  constructor({ port, settings, logger }: AnswerFrontParts) {
    this.#port = port;
    this.#claims = new RequestClaims(settings.claims);
    this.#errors = new ErrorLog(logger);
    this.#logger = logger;
    this.#memory = new Ledger({ max: settings.memoryBytes });
  }

  get readiness(): Readiness {
    return this.#isStopping ? 'stopping' : 'ready';
  }

  open(opened: Opened): void {
    const { data } = opened;
    this.#opened = opened;
    this.#faultsTimer = setInterval(() => this.#reportFaults(data.home.health), faultsMs);
  }

  #reportFaults({ places }: StorageHealth): void {
    const text = JSON.stringify(Object.entries(places).map(([fault, of]) => [fault, ...of]));
    if (text !== this.#reportedFaults) this.post({ kind: 'faults', places });
    this.#reportedFaults = text;
  }

  post(message: FromHost, transferred: Transferable[] = []): void {
    this.#port.postMessage(message, transferred);
  }

  /** Returns the metrics of the whole process, which the front writes. */
  write(): Promise<Exposition> {
    const token = this.#nextExposition;
    this.#nextExposition += 1;
    const exposition = Promise.withResolvers<Exposition>();
    this.#expositions.set(token, exposition);
    this.post({ kind: 'expose', token });
    return exposition.promise;
  }

  receive(message: ToHost): void {
    switch (message.kind) {
      case 'requests':
        for (const request of message.requests) void this.#serve(request);
        return;
      case 'gone':
        this.#running.get(message.token)?.leave();
        return;
      case 'refusal':
        this.#logRefusal(message);
        return;
      case 'frameAncestors':
        void this.#answerFrameAncestors(message);
        return;
      case 'place':
        this.#parts.host.place(message.ids);
        return;
      case 'metrics':
        void this.#answerMetrics(message.token);
        return;
      case 'visit':
        void this.#visit(message);
        return;
      case 'leave':
        void this.#leave(message);
        return;
      case 'exposition':
        this.#receiveExposition(message);
        return;
      case 'stopSending':
        void this.#stopSending();
        return;
      case 'stop':
        void this.#stop();
    }
  }

  get #parts(): Opened {
    assert(this.#opened !== undefined, 'the host is open when messages come');
    return this.#opened;
  }

  async #serve(message: RequestMessage): Promise<void> {
    const { token } = message;
    if (!this.#claims.take(token)) return;
    const route = instanceRoutes.get(message.route);
    assert(route !== undefined, 'the routes of both threads are the same');
    const { host } = this.#parts;
    const request = new MessageRequest(message, {
      requestForm: (bytesMax, port) => this.post({ kind: 'form', token, bytesMax, port }, [port]),
      memory: this.#memory,
    });
    this.#running.set(token, request);
    try {
      const answer = await host.serve(route, request);
      const { message: sent, transferred } = toAnswerMessage(request, answer);
      this.#answer({ token, report: this.#toReportMessage(request), answer: sent }, transferred);
    } catch (error) {
      const failed = toErrorAnswer(error);
      this.#errors.note(error, request, failed);
      this.#answer({
        token,
        report: this.#toReportMessage(request),
        answer: { kind: 'failed', error: failed },
      });
    } finally {
      // What is being sent holds memory of its own.
      request.release();
      this.#running.delete(token);
    }
  }

  #toReportMessage({ entry, report }: MessageRequest): ReportMessage {
    const { caller, address, trace, rateLimitHeaders, isNoted, trustedProxy } = report;
    const isNew = trustedProxy !== null && this.#trustedProxies.get(entry.id) !== trustedProxy;
    if (isNew) this.#trustedProxies.set(entry.id, trustedProxy);
    const own = { address: address === null ? null : address(), trustedProxy: isNew ? trustedProxy : null };
    return { caller, trace, rateLimitHeaders, isNoted, ...own };
  }

  /** Answers with all others of this turn of the event loop. */
  #answer(answer: AnswerMessage, transferred: readonly Transferable[] = []): void {
    if (this.#answers.length === 0) setImmediate(() => this.#flush());
    this.#answers.push(answer);
    this.#transferred.push(...transferred);
  }

  #flush(): void {
    const [answers, transferred] = [this.#answers, this.#transferred];
    this.#answers = [];
    this.#transferred = [];
    try {
      this.post({ kind: 'answers', answers }, transferred);
    } catch (error) {
      this.#answerFailed(answers, error);
    }
  }

  /** One of these answers cannot be a message, which is a bug: all of them fail, as no port of theirs is left. */
  #answerFailed(answers: readonly AnswerMessage[], error: unknown): void {
    const failed = toErrorAnswer(error);
    for (const { token, report } of answers) {
      const empty = { ...report, caller: null, trace: null };
      this.post({
        kind: 'answers',
        answers: [{ token, report: empty, answer: { kind: 'failed', error: failed } }],
      });
    }
    this.#logger.error('Responses could not be sent to the request thread.', { error });
  }

  #logRefusal({ entry, request, error }: ToHost & { kind: 'refusal' }): void {
    const startedMs = systemClock.monotonic() - request.ageMs;
    const logged = { ...request, startedMs, report: emptyReport() };
    this.#parts.host.logRefusal(entry, logged, fromErrorMessage(error));
  }

  async #answerFrameAncestors({ token, entry }: ToHost & { kind: 'frameAncestors' }): Promise<void> {
    this.post({ kind: 'sites', token, sites: await this.#parts.host.frameAncestors(entry) });
  }

  async #visit({ token, entry }: ToHost & { kind: 'visit' }): Promise<void> {
    this.post({ kind: 'done', token, isDone: await this.#parts.host.visit(entry) });
  }

  async #leave({ token, id }: ToHost & { kind: 'leave' }): Promise<void> {
    this.post({ kind: 'done', token, isDone: await this.#parts.host.leave(id) });
  }

  #receiveExposition({ token, exposition }: ToHost & { kind: 'exposition' }): void {
    const waiting = this.#expositions.get(token);
    this.#expositions.delete(token);
    if (exposition === undefined) waiting?.reject(new Error('The front could not write the metrics.'));
    else waiting?.resolve(exposition);
  }

  async #answerMetrics(token: number): Promise<void> {
    this.post({ kind: 'counts', token, metrics: await this.#parts.host.metrics() });
  }

  async #stopSending(): Promise<void> {
    this.#isStopping = true;
    await this.#parts.host.stopSending();
    this.post({ kind: 'stopped', what: 'sending' });
  }

  async #stop(): Promise<void> {
    const { host, data } = this.#parts;
    clearInterval(this.#faultsTimer);
    await host.stop();
    await data.stop();
    this.#errors.flush();
    this.post({ kind: 'stopped', what: 'all' });
  }
}
