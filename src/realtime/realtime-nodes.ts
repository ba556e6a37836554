import { authenticate } from '../auth/authenticate.ts';
import { guest } from '../access/caller.ts';
import { systemClock } from '../base/clock.ts';
import { AppError, busy, type ErrorCode, type FieldErrors } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { Poller } from '../base/poller.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import { listenPostgres } from '../storage/postgres/listen-postgres.ts';
import { type OtherNodes, type Realtime, type SubscribeRequest, unknownClient } from './realtime.ts';

export interface RealtimeNodesOptions {
  /** The id of this node, as in `chancery.node`. It is the beginning of the ids of its clients. */
  readonly node: string;
  readonly realtime: Realtime;
  /** A database with connections of its own, which requests cannot use up. */
  readonly database: Database;
  readonly url: string;
  readonly borrow: (instanceId: string) => Promise<Loan | undefined>;
  readonly logger: Logger;
}

/** How long a request waits for the node that has the client. */
const answerMs = 3_000;
/** How often a node says of which instances it has subscribers, and for how long others believe it. */
const watchIntervalMs = 10_000;
const watchedMs = 3 * watchIntervalMs;
/** A NOTIFY payload must be shorter than 8,000 bytes; an id takes 15 and a comma. */
const idsMax = 400;
const idLength = 15;

/**
 * What nodes tell each other about their clients. A client is connected to one node, and a load balancer may bring its requests to another:
 * that one leaves the request in a table, tells the client's node of it, and answers what that has answered.
 *
 *   watch <node> <instance>,…             the node has subscribers of these instances, and wants to be told of what others write there
 *   ask <node> <request> <instance>       there is a request for a client of that node
 *   answer <request> <refusal>            the request was carried out, or refused
 */
export class RealtimeNodes implements OtherNodes {
  readonly node: string;
  readonly #options: RealtimeNodesOptions;
  /** Until when another node has subscribers of an instance, by the monotonic clock. */
  readonly #watched = new Map<string, number>();
  readonly #asked = new Map<string, (refusal: AppError | undefined) => void>();
  #listening: { stop(): Promise<void> } | undefined;
  #watch: Poller | undefined;

  constructor(options: RealtimeNodesOptions) {
    this.#options = options;
    this.node = options.node;
  }

  start(): void {
    const { url, logger } = this.#options;
    this.#listening = listenPostgres({
      url,
      channel: 'chancery_realtime',
      onMessage: (message) => this.#hear(message),
      onError: (error) =>
        logger.warn('Other nodes cannot be heard about realtime clients; trying again.', { error }),
    });
    const onError = (error: unknown): void =>
      logger.warn('Other nodes could not be told of realtime clients; trying again.', { error });
    this.#watch = new Poller({ intervalMs: watchIntervalMs, poll: () => this.#tellWatched(), onError });
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
    await this.#listening?.stop();
  }

  /** Tells the others at once that this node has subscribers of an instance. */
  noteOpened(): void {
    void this.#watch?.look();
  }

  /** Whether another node has subscribers of the instance, as far as is known here. */
  isWatched(instanceId: string): boolean {
    const untilMs = this.#watched.get(instanceId);
    if (untilMs === undefined) return false;
    if (untilMs > systemClock.monotonic()) return true;
    this.#watched.delete(instanceId);
    return false;
  }

  /** Has the node of a client carry out a request. Throws what that refuses it with; not_found when there is no such node. */
  async ask(instance: Instance, request: SubscribeRequest): Promise<void> {
    const { database } = this.#options;
    const node = request.clientId.slice(0, idLength);
    if (!(await this.#isAlive(node))) throw unknownClient();
    const id = newId();
    const { clientId, subscriptions, authorization, address } = request;
    const text = JSON.stringify({ clientId, subscriptions, authorization, address });
    const sealed = instance.sealer.seal(text, { purpose: 'realtime-request', id });
    const answered = this.#answerTo(id);
    try {
      await database.write(async (tx) => {
        await tx.run(sql`DELETE FROM chancery.realtime_request WHERE asked < now() - interval '1 minute'`);
        await tx.run(
          sql`INSERT INTO chancery.realtime_request (id, instance_id, request) VALUES (${id}, ${instance.id}, ${sealed})`,
        );
        await tx.tuples(sql`SELECT pg_notify('chancery_realtime', ${`ask ${node} ${id} ${instance.id}`})`);
      });
      const refusal = await answered;
      if (refusal !== undefined) throw refusal;
    } finally {
      this.#asked.delete(id);
    }
  }

  async #isAlive(node: string): Promise<boolean> {
    const { database, node: own } = this.#options;
    if (node === own || !/^[a-z0-9]{15}$/.test(node)) return false;
    const alive = sql`SELECT 1 FROM chancery.node WHERE id = ${node} AND seen > now() - interval '10 seconds'`;
    return (await database.tuples(alive)).length > 0;
  }

  #answerTo(id: string): Promise<AppError | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(busy()), answerMs);
      this.#asked.set(id, (refusal) => {
        clearTimeout(timer);
        resolve(refusal);
      });
    });
  }

  #hear(message: string): void {
    const [kind, first = '', second = '', third = ''] = message.split(' ');
    const { node, logger } = this.#options;
    if (kind === 'watch' && first !== node) this.#noteWatched(second.split(','));
    if (kind === 'answer') this.#asked.get(first)?.(toRefusal(message.slice(`answer ${first} `.length)));
    if (kind !== 'ask' || first !== node) return;
    this.#carryOut(second, third).catch((error: unknown) => {
      logger.warn('A request for a realtime client could not be carried out for another node.', { error });
    });
  }

  #noteWatched(instanceIds: readonly string[]): void {
    const untilMs = systemClock.monotonic() + watchedMs;
    for (const id of instanceIds) this.#watched.set(id, untilMs);
  }

  /** Carries out a request that another node has left here, and tells it the outcome. */
  async #carryOut(id: string, instanceId: string): Promise<void> {
    const { database, realtime, borrow } = this.#options;
    const rows = await database.write((tx) =>
      tx.returning(
        sql`DELETE FROM chancery.realtime_request WHERE id = ${id} AND instance_id = ${instanceId} RETURNING request`,
      ),
    );
    const loan = await borrow(instanceId);
    if (loan === undefined) return;
    try {
      const [row] = rows;
      if (row === undefined) return;
      const text = loan.instance.sealer.open(String(row[0]), { purpose: 'realtime-request', id });
      const outcome = await subscribeHere(realtime, loan.instance, text);
      await this.#notify(`answer ${id} ${outcome}`);
    } finally {
      loan.release();
    }
  }

  async #tellWatched(): Promise<void> {
    const ids = this.#options.realtime.instanceIds();
    for (let at = 0; at < ids.length; at += idsMax)
      await this.#notify(`watch ${this.#options.node} ${ids.slice(at, at + idsMax).join(',')}`);
  }

  async #notify(message: string): Promise<void> {
    // Nothing waits for the sync of this commit: there is nothing in it that could be lost.
    await this.#options.database.get(
      sql`SELECT set_config('synchronous_commit', 'off', true), pg_notify('chancery_realtime', ${message})`,
    );
  }
}

/** Returns what to answer: nothing, or the refusal as JSON. */
async function subscribeHere(realtime: Realtime, instance: Instance, text: string): Promise<string> {
  // What `ask` has sealed, on a node of the same version or a neighbouring one.
  const request = JSON.parse(text) as Omit<SubscribeRequest, 'caller'>;
  const { authorization } = request;
  try {
    const caller = authorization === undefined ? guest : await authenticate(instance, authorization);
    await realtime.subscribe(instance, { ...request, caller });
    return '';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details } = error;
    const refusal = JSON.stringify({ code, message, details });
    // A payload has less than 8,000 bytes; most of them were in the request.
    return Buffer.byteLength(refusal) < 7_000 ? refusal : JSON.stringify({ code, message, details: {} });
  }
}

function toRefusal(text: string): AppError | undefined {
  if (text === '') return undefined;
  // Made by `subscribeHere`.
  const { code, message, details } = JSON.parse(text) as {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details: FieldErrors;
  };
  return new AppError(code, message, { details });
}
