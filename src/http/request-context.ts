import type { Caller } from '../access/caller.ts';
import { type RuleInput, shareOf } from '../access/rule-input.ts';
import type { WorkAfterAnswer } from '../auth/account-request.ts';
import { AppError, busy } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Uploads } from '../files/uploads.ts';
import type { ThumbMaker } from '../files/thumb-maker.ts';
import type { InstanceDirectory } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import { type ListQuery, parseListQuery, type QueryReader } from '../query/list-query.ts';
import { parseFields } from '../query/projection.ts';
import { Pauses } from '../base/pieces.ts';
import type { TurnMeter } from '../base/turn-meter.ts';
import { requireRoom } from '../limits/data-room.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import { projectTexts } from '../query/project-texts.ts';
import { listTexts, type ListPage } from '../query/run-list.ts';
import {
  findAnswer,
  type IdempotentRequest,
  idempotentRequest,
  type StoredAnswer,
  runOnce,
} from '../records/idempotency.ts';
import type { Exposition } from '../logs/metrics.ts';
import type { RemovalRunner } from '../records/removal-runner.ts';
import type { ProviderClient } from '../providers/provider-client.ts';
import type { Realtime } from '../realtime/realtime.ts';
import type { Reserve } from '../storage/data-home.ts';
import type { Transaction, WriteOptions } from '../storage/database.ts';
import type { InstanceBackups } from '../backups/instance-backups.ts';
import type { InstanceCrons } from '../crons/instance-crons.ts';
import type { StorageFault } from '../storage/storage-health.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Admission } from './admission.ts';
import { type Answer, projectedInTurns } from './answer.ts';
import type { InstanceRequest, ReservedMemory } from './instance-request.ts';
import { objectOf } from './parse-body.ts';
import { ruleInput } from './rule-input.ts';

/** `stopping` once a stop has begun, or why the data cannot be used as it should be: a load balancer must then use another node. */
export type Readiness = 'ready' | 'stopping' | 'outdated' | StorageFault;

/** What routes use of the process. */
export interface Services {
  /** Asked before every operation. */
  readonly admission: Admission;
  /** Measures whom this thread works for; undefined where nobody else waits for it. */
  readonly meter?: TurnMeter | undefined;
  readonly directory: InstanceDirectory;
  readonly instances: OpenInstances;
  readonly dispatcher: Dispatcher;
  readonly mailer: Mailer;
  readonly providers: ProviderClient;
  readonly realtime: Realtime;
  readonly thumbs: ThumbMaker;
  readonly removals: RemovalRunner;
  readonly backups: InstanceBackups;
  readonly crons: InstanceCrons;
  readonly metrics: { write(): Promise<Exposition> };
  readonly policy: NetworkPolicy;
  readonly version: string;
  /** Every request is the operator's: only this process can send one, for a command over the data itself. */
  readonly isForOperator?: boolean;
  /** Whether requests should be sent to this process; those to an instance where its id is given. */
  readonly readiness: (instance?: string) => Readiness;
  /** Whether this process can no longer work on the data, which a newer version has changed. */
  readonly isOutdated: () => boolean;
  readonly reserve: Reserve | undefined;
  /** What superusers are told of the process: a sentence each. */
  readonly warnings: (instance: Instance) => readonly string[];
}

/** A request as the handler of a route sees it. */
export class ServiceContext<Parts = Pick<Services, 'readiness' | 'directory'>> {
  readonly services: Parts;
  readonly query: QueryReader;
  /** The instance that the request addresses, whether or not the route is about it; undefined where it addresses none. */
  readonly instanceId: string | undefined;

  constructor(services: Parts, query: QueryReader, instanceId: string | undefined) {
    this.services = services;
    this.query = query;
    this.instanceId = instanceId;
  }

  /** Answers JSON text, of which `fields` of the query may ask for some members only. */
  answer(
    json: string,
    { status = 200, headers }: Omit<Partial<Answer>, 'json'> = {},
  ): Answer | Promise<Answer> {
    // A sign-in that needs a second factor is no success, and its client needs the whole answer to go on.
    const body = status < 300 ? projectedInTurns(this.query, json) : json;
    const toAnswer = (text: string): Answer => ({ status, json: text, ...(headers && { headers }) });
    return typeof body === 'string' ? toAnswer(body) : body.then(toAnswer);
  }

  /** Answers a page of a list; `fields` of the query may ask for some members of its items. */
  async answerList<Item>(
    { items, ...page }: ListPage & { readonly items: readonly Item[] },
    toJson: (item: Item) => string = JSON.stringify,
    headers?: Answer['headers'],
  ): Promise<Answer> {
    const pauses = new Pauses();
    const texts: string[] = [];
    for (const item of items) {
      const text = toJson(item);
      texts.push(text);
      const pause = pauses.after(text.length);
      if (pause !== undefined) await pause;
    }
    const fields = parseFields(this.query.get('fields') ?? '');
    const projections = fields === undefined ? texts : await projectTexts(texts, fields, pauses);
    return { status: 200, texts: listTexts(page, projections), ...(headers && { headers }) };
  }
}

/** What is known of a request to an instance once it is admitted. */
export interface AdmittedRequest {
  readonly instance: Instance;
  readonly caller: Caller;
  /** As JSON; undefined where there is none. */
  readonly body?: unknown;
  /** The files of the request; undefined where it can have none. */
  readonly uploads?: Uploads | undefined;
}

/** A request to an instance, with its caller. */
export class RequestContext<Params = object> extends ServiceContext<Services> {
  readonly request: InstanceRequest;
  readonly instance: Instance;
  readonly caller: Caller;
  readonly #body: unknown;
  readonly #uploads: Uploads | undefined;
  #input: RuleInput | undefined;

  constructor(
    services: Services,
    request: InstanceRequest,
    { instance, caller, body, uploads }: AdmittedRequest,
  ) {
    super(services, request.query, request.entry.id);
    this.request = request;
    this.instance = instance;
    this.caller = caller;
    this.#body = body;
    this.#uploads = uploads;
  }

  get params(): Params {
    // The router fills in every parameter of the path, whose type that of the route is made from.
    return this.request.params as Params;
  }

  /** The body as an object. Throws bad_request when it is JSON of another kind. */
  get body(): JsonObject {
    return objectOf(this.#body);
  }

  /** The address of the client, by the settings of the instance. */
  get address(): Uint8Array {
    return this.services.admission.addressOf(this.instance, this.request);
  }

  /** What rules and the audit log may know of the request. */
  get input(): RuleInput {
    const addressOf = (): Uint8Array => this.address;
    return (this.#input ??= ruleInput(this.request, { caller: this.caller, body: this.#body, addressOf }));
  }

  /** The query as that of a list. Throws bad_request. */
  get listQuery(): ListQuery {
    return { ...parseListQuery(this.query), memory: this.memory };
  }

  /** The memory of the answer, for rows that are read for it. */
  get memory(): ReservedMemory {
    const { services, instance, request } = this;
    const memory = request.memoryFor(clientKey(this.address));
    return {
      // The memory may be held by answers that nobody reads.
      admit: (length) => services.admission.outsideTurn(instance, request, () => memory.admit(length)),
      extend: (length) => memory.extend(length),
      admitAnswer: (length, how) => memory.admitAnswer(length, how),
    };
  }

  /**
   * Runs a write, whose answer is sent once it is synced. A write that was answered before under the same Idempotency-Key is not run
   * again. Files of the request are in their places before it runs.
   */
  async write(unlimited: WriteWork, options: WriteOptions = {}): Promise<Answer> {
    this.services.admission.requireDiskRoom(this.request, 'data');
    const isLimited = this.request.entry.quotas.dataBytes !== undefined;
    if (isLimited) await this.services.admission.requireDataRoom(this.instance, this.request);
    const work = isLimited ? this.#withinRoom(unlimited) : unlimited;
    const uploads = this.#uploads;
    if (uploads?.hasPlaces === true) return this.#writeWithFiles(work, uploads, options);
    const key = this.request.headers['idempotency-key'];
    if (key === undefined) return this.instance.database.write(work, options);
    return (await this.#writeOnce(work, this.#idempotent(key), options)).answer;
  }

  /** Returns the work, which is refused where the data is too large after it. Deletes are what makes room. */
  #withinRoom(work: WriteWork): WriteWork {
    return async (tx) => {
      const answer = await work(tx);
      const { dataBytes } = this.request.entry.quotas;
      if (dataBytes !== undefined && this.request.method !== 'DELETE') await requireRoom(tx, dataBytes);
      return answer;
    };
  }

  /** As {@link write}, for a work that inserts rows and changes none: it may share a transaction with others. */
  append(work: WriteWork): Promise<Answer> {
    return this.write(work, this.#isAlone ? {} : { isAppending: true });
  }

  /** As {@link append}, for a work that also changes the record with this id. */
  change(id: string, work: WriteWork): Promise<Answer> {
    return this.write(work, this.#isAlone ? {} : { changes: id });
  }

  /** Whether the write also changes rows of its files or of its key, which no work that shares a transaction may. */
  get #isAlone(): boolean {
    return this.#uploads?.hasPlaces === true || this.request.headers['idempotency-key'] !== undefined;
  }

  async #writeWithFiles(work: WriteWork, uploads: Uploads, options: WriteOptions): Promise<Answer> {
    const { database, clock } = this.instance;
    const key = this.request.headers['idempotency-key'];
    const idempotent = key === undefined ? undefined : this.#idempotent(key);
    const replayed = idempotent && (await findAnswer(database, idempotent, clock.now()));
    if (replayed !== undefined) return asReplayed(replayed);
    try {
      await uploads.place();
      if (idempotent === undefined) return await database.write(work, options);
      const { answer, isReplayed } = await this.#writeOnce(work, idempotent, options);
      if (isReplayed) await uploads.release();
      return answer;
    } catch (error) {
      // Otherwise they may be in use, or are still on their way to the store: their time will come.
      if (error instanceof AppError && !['outcome_unknown', 'unavailable'].includes(error.code))
        await uploads.release();
      throw error;
    }
  }

  #idempotent(key: string | string[]): IdempotentRequest {
    const { instance, caller, request } = this;
    const { method, headers, url } = request;
    const [path = '', ...query] = url.split('?');
    const ifMatch = headers['if-match'];
    const parts = {
      sealer: instance.sealer,
      caller,
      method,
      path,
      query: query.join('?'),
      ifMatch,
      body: this.#body,
    };
    return idempotentRequest(String(key), parts);
  }

  async #writeOnce(
    work: WriteWork,
    request: IdempotentRequest,
    options: WriteOptions,
  ): Promise<{ readonly answer: Answer; readonly isReplayed: boolean }> {
    const { instance } = this;
    const { answer, isReplayed } = await instance.database.write(
      (tx) =>
        runOnce(tx, { request, now: instance.clock.now() }, async () => {
          const { status, json, headers = {}, idsJson = () => '{}' } = await work(tx);
          return { status, json, headers, idsJson };
        }),
      options,
    );
    return { answer: isReplayed ? asReplayed(answer) : answer, isReplayed };
  }

  /** Queues work for after the answer, and keeps the instance open for it. Returns false, and does nothing, when the queue is full. */
  async runAfterAnswer(work: WorkAfterAnswer): Promise<boolean> {
    const { instances, mailer } = this.services;
    const { entry } = this.request;
    const loan = await instances.borrow(entry);
    // Without its signal: the work is done whether or not the client waits for the answer.
    const { address } = shareOf(entry.id, this.input);
    const prepared = mailer.prepare({ instance: entry.id, address }, () => work(loan.instance, mailer));
    if (prepared === undefined) loan.release();
    else void prepared.finally(() => loan.release());
    return prepared !== undefined;
  }

  /** As {@link runAfterAnswer}, for work that is the purpose of the request. Throws unavailable when the queue is full. */
  async requireAfterAnswer(work: WorkAfterAnswer): Promise<void> {
    if (!(await this.runAfterAnswer(work))) throw busy();
  }
}

function asReplayed(answer: StoredAnswer): Answer {
  return { ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } };
}

/** What a write does in its transaction. */
export type WriteWork = (tx: Transaction) => Promise<WriteAnswer>;

/** The answer to a write, and the part of it to keep under an Idempotency-Key. */
export interface WriteAnswer extends Answer {
  /** The body to keep when `json` is too large to be kept; absent where there is no body. */
  readonly idsJson?: () => string;
}
