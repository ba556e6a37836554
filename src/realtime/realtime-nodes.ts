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
import {
  type ClientRequest,
  type Message,
  type OtherNodes,
  type Realtime,
  type SubscribeRequest,
  unknownClient,
} from './realtime.ts';

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
/** How often a node announces the instances of its subscribers, and for how long that holds. */
const watchIntervalMs = 10_000;
const watchedMs = 3 * watchIntervalMs;
/** A NOTIFY payload must be shorter than 8,000 bytes; an id takes 15 and a comma. */
const idsMax = 400;
const idLength = 15;

/**
 * Messages between nodes about their clients. A client is connected to one node, and a load balancer may send its requests to another:
 * that one puts the request into a table, notifies the client's node, and passes its answer on.
 *
 *   watch <node> <instance>,…             the node has subscribers of these instances, and needs a hint when others write there
 *   ask <node> <request> <instance>       there is a request for a client of that node
 *   answer <request> <refusal>            the request was executed, or rejected
 */
export class RealtimeNodes implements OtherNodes {
  readonly node: string;
  readonly #options: RealtimeNodesOptions;
  /** Until when another node has subscribers of an instance, by the monotonic clock. */
  readonly #watched = new Map<string, number>();
  readonly #pending = new Map<string, (refusal: AppError | undefined) => void>();
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
      onMessage: (message) => this.#receive(message),
      onError: (error) => logger.warn('Listening to other nodes for realtime failed; retrying.', { error }),
    });
    const onError = (error: unknown): void =>
      logger.warn('Notifying other nodes of realtime clients failed; retrying.', { error });
    this.#watch = new Poller({ intervalMs: watchIntervalMs, poll: () => this.#announceWatched(), onError });
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
    await this.#listening?.stop();
  }

  /** Announces at once that this node has subscribers of an instance. */
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

  /** Forwards a request to the node of its client. Throws the error of that node; not_found when there is no such node. */
  async forward(instance: Instance, request: ClientRequest): Promise<void> {
    const { database } = this.#options;
    const node = request.clientId.slice(0, idLength);
    if (!(await this.#isAlive(node))) throw unknownClient();
    const id = newId();
    const text = JSON.stringify(withoutCaller(request));
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
      this.#pending.delete(id);
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
      this.#pending.set(id, (refusal) => {
        clearTimeout(timer);
        resolve(refusal);
      });
    });
  }

  #receive(message: string): void {
    const [kind, first = '', second = '', third = ''] = message.split(' ');
    const { node, logger } = this.#options;
    if (kind === 'watch' && first !== node) this.#noteWatched(second.split(','));
    if (kind === 'answer') this.#pending.get(first)?.(toRefusal(message.slice(`answer ${first} `.length)));
    if (kind !== 'ask' || first !== node) return;
    this.#execute(second, third).catch((error: unknown) => {
      logger.warn('Executing a realtime request of another node failed.', { error });
    });
  }

  #noteWatched(instanceIds: readonly string[]): void {
    const untilMs = systemClock.monotonic() + watchedMs;
    for (const id of instanceIds) this.#watched.set(id, untilMs);
  }

  /** Executes a request that another node has forwarded, and sends it the outcome. */
  async #execute(id: string, instanceId: string): Promise<void> {
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
      const outcome = await executeHere(realtime, loan.instance, text);
      await this.#notify(`answer ${id} ${outcome}`);
    } finally {
      loan.release();
    }
  }

  async #announceWatched(): Promise<void> {
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

/** The caller is authenticated again where the client is. */
function withoutCaller(request: ClientRequest): ForwardedRequest {
  if ('data' in request) return request;
  const { clientId, subscriptions, authorization, address } = request;
  return { clientId, subscriptions, authorization, address };
}

type ForwardedRequest = Message | Omit<SubscribeRequest, 'caller'>;

/** Returns the answer: empty, or the error as JSON. */
async function executeHere(realtime: Realtime, instance: Instance, text: string): Promise<string> {
  // Sealed by `forward`, on a node of the same version or a neighbouring one.
  const request = JSON.parse(text) as ForwardedRequest;
  try {
    if ('data' in request) await realtime.sendMessage(instance, request);
    else {
      const { authorization } = request;
      const caller = authorization === undefined ? guest : await authenticate(instance, authorization);
      await realtime.subscribe(instance, { ...request, caller });
    }
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
  // Made by `executeHere`.
  const { code, message, details } = JSON.parse(text) as {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details: FieldErrors;
  };
  return new AppError(code, message, { details });
}
