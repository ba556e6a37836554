import type { Caller } from '../access/caller.ts';
import type { Clock } from '../base/clock.ts';
import { AppError, busy, notFound, stopping, tooManyRequests } from '../base/errors.ts';
import { randomText, randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { SafeEnd } from '../events/log-horizon.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import { Channel } from './channel.ts';
import { Client, type ClientCounts, type Connection, lengthOf } from './client.ts';
import { ConnectionCounts, type ConnectionLimits } from './connection-counts.ts';
import {
  type RequestedSubscriptions,
  applySubscriptions,
  parseSubscriptions,
  realtimeLimits,
  reportRefusals,
  requireForm,
} from './apply-subscriptions.ts';

/**
 * Sends changes to subscribed clients as they happen, over connections that stay open (Server-Sent Events; http-api.md section 16).
 *
 *   realtime         the clients of all instances: connects and disconnects them, enforces the limits
 *   client           one connection and its subscriptions; topic, one subscription as it was written
 *   apply-subscriptions   a request that replaces the subscriptions of a client, with all of its checks
 *   channel          reads the event log of an instance, and sends each change to the clients that may see it
 *   audience         subscriptions that get the same message for a change, and that message
 *   callers          authenticates clients again
 *
 * Writes do not depend on this: clients get what the event log has, in its order.
 */
export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #instances = new Map<string, Promise<InstanceClients>>();
  readonly #timer: NodeJS.Timeout;
  readonly #counts: ClientCounts = { connections: 0, messages: 0 };
  readonly #connectionsOf = new Map<string, number>();
  #nodes: OtherNodes | undefined;
  #part = 0;
  #isStopping = false;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#tick(), options.heartbeatMs / heartbeatParts).unref();
  }

  /**
   * Returns a function that adds a connection once its headers are sent, and that returns a function to call when it is closed. Throws
   * too_many_requests, unavailable.
   */
  async admit(instanceId: string, address: string): Promise<(connection: Connection) => () => void> {
    const group = await this.#getOrOpen(instanceId);
    group.counts.requireQuota(address);
    return (connection) => {
      const client = this.#connect(group, address, connection);
      return () => this.#disconnect(instanceId, group, client);
    };
  }

  #connect(group: InstanceClients, address: string, connection: Connection): Client {
    const nowMs = this.#options.clock.monotonic();
    const client = new Client(connection, {
      id: newClientId(this.#nodes?.node),
      quotaEntry: group.counts.add(address),
      nowMs,
      counts: this.#counts,
    });
    group.clients.set(client.id, client);
    this.#counts.connections += 1;
    this.#connectionsOf.set(group.loan.instance.id, group.clients.size);
    client.send('PB_CONNECT', JSON.stringify({ clientId: client.id }));
    // A stop, or the last client to disconnect, came in between.
    if (group.isOver) client.end();
    return client;
  }

  #disconnect(instanceId: string, group: InstanceClients, client: Client): void {
    client.noteClosed();
    if (!group.clients.delete(client.id)) return;
    this.#counts.connections -= 1;
    if (group.clients.size === 0) this.#connectionsOf.delete(instanceId);
    else this.#connectionsOf.set(instanceId, group.clients.size);
    for (const subscription of client.subscriptions.values()) group.channel.remove(subscription);
    group.textLength -= client.textLength;
    group.counts.remove(client.quotaEntry);
    if (group.clients.size === 0) void this.#close(instanceId, group);
  }

  /**
   * Replaces the subscriptions of a client, which from now on gets what the caller may see. Throws not_found (no such client), bad_request,
   * forbidden (the client is somebody else's).
   */
  async subscribe(instance: Instance, request: SubscribeRequest): Promise<void> {
    requireForm(request);
    const group = await this.#instances.get(instance.id);
    const client = group?.clients.get(request.clientId);
    if (group === undefined || client === undefined || client.isClosed)
      return this.#forward(instance, request);
    if (client.address !== request.address) throw new AppError('bad_request', 'Invalid realtime client.');
    requireSameCaller(await group.channel.callers.of(client), request.caller);
    const length = lengthOf(request.subscriptions) - client.textLength;
    if (group.textLength + length > realtimeLimits.textLengthMax) throw tooManyRequests(5);
    const { topics, refusals } = parseSubscriptions(instance, request);
    group.counts.assign(client.quotaEntry, request.caller);
    const texts = [...topics.map(({ text }) => text), ...refusals.keys()];
    group.textLength += lengthOf(texts) - client.textLength;
    client.idleSinceMs = this.#options.clock.monotonic();
    const reported = client.refusedTopics;
    client.refusedTopics = new Set(refusals.keys());
    await applySubscriptions({ instance, channel: group.channel, client }, { ...request, topics });
    reportRefusals(client, { refusals, reported });
  }

  /** Another node may have the client. */
  async #forward(instance: Instance, request: ClientRequest): Promise<void> {
    if (this.#nodes === undefined) throw unknownClient();
    await this.#nodes.forward(instance, request);
  }

  /**
   * Sends a client a message that is about no record, to the subscription by its name, which ends by that. Throws not_found when there is no
   * such client, or it has no such subscription; bad_request when the request comes from another address.
   */
  async sendMessage(instance: Instance, message: Message): Promise<void> {
    const group = await this.#instances.get(instance.id);
    const client = group?.clients.get(message.clientId);
    if (group === undefined || client === undefined || client.isClosed)
      return this.#forward(instance, message);
    if (client.address !== message.address) throw new AppError('bad_request', 'Invalid realtime client.');
    const subscription = client.subscriptions.get(message.name);
    if (subscription === undefined) throw unknownClient();
    client.subscriptions = new Map([...client.subscriptions].filter(([name]) => name !== message.name));
    client.idleSinceMs = this.#options.clock.monotonic();
    group.channel.remove(subscription);
    group.textLength -= message.name.length;
    client.send(message.name, message.data);
  }

  /** The ids of the instances that have clients here. */
  instanceIds(): readonly string[] {
    return [...this.#instances.keys()];
  }

  /** Sets the port to the clients of other nodes. */
  setNodes(nodes: OtherNodes): void {
    this.#nodes = nodes;
  }

  /** How many clients are connected now. */
  get connections(): number {
    return this.#counts.connections;
  }

  /** How many clients of each instance are connected now. */
  connectionsOf(): ReadonlyMap<string, number> {
    return this.#connectionsOf;
  }

  /** How many messages were sent to clients. */
  get messages(): number {
    return this.#counts.messages;
  }

  /** Ends all connections. Each client gets a random delay before it connects again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const id of this.#instances.keys()) await this.endInstance(id);
  }

  /** Ends the connections of an instance, as its clients are to connect elsewhere. */
  async endInstance(instanceId: string): Promise<void> {
    const group = await this.#instances.get(instanceId)?.catch(() => undefined);
    if (group === undefined) return;
    for (const client of group.clients.values()) client.end(Math.round(retryMs * (1 + randomUnit())));
    await this.#close(instanceId, group);
  }

  async #getOrOpen(instanceId: string): Promise<InstanceClients> {
    if (this.#isStopping) throw stopping();
    let opening = this.#instances.get(instanceId);
    if (opening === undefined) {
      // An instance stays open for its clients, and requests to others need group as well.
      if (this.#instances.size >= (this.#options.instancesMax ?? Number.POSITIVE_INFINITY)) throw busy();
      opening = this.#open(instanceId);
      this.#instances.set(instanceId, opening);
      this.#nodes?.noteOpened();
      opening.catch(() => this.#instances.delete(instanceId));
    }
    const group = await opening;
    // The last of its clients may have left while this one waited.
    return this.#instances.get(instanceId) === opening ? group : this.#getOrOpen(instanceId);
  }

  async #open(instanceId: string): Promise<InstanceClients> {
    const { borrow, safeEnd, logger } = this.#options;
    const loan = await borrow(instanceId);
    if (loan === undefined) throw notFound();
    const onError = (error: unknown): void =>
      logger.warn('Reading the event log for realtime failed; retrying.', {
        instance: instanceId,
        error,
      });
    const channel = new Channel({ instance: loan.instance, safeEnd, onError });
    const nowMs = (): number => this.#options.clock.monotonic();
    const counts = new ConnectionCounts(this.#options, {
      logger,
      instance: instanceId,
      nowMs,
      quota: () => loan.instance.quotas().realtimeConnections,
    });
    return { loan, channel, clients: new Map(), counts, textLength: 0, isOver: false };
  }

  /** Releases the instance, which has no more clients. */
  async #close(instanceId: string, group: InstanceClients): Promise<void> {
    if (group.isOver) return;
    group.isOver = true;
    this.#instances.delete(instanceId);
    await group.channel.stop();
    group.loan.release();
  }

  /** Sends heartbeats to some of the clients, so that not all are written to at once. */
  async #tick(): Promise<void> {
    this.#part += 1;
    const idleBeforeMs = this.#options.clock.monotonic() - idleMs;
    for (const [id, opening] of this.#instances) {
      const group = await opening.catch(() => undefined);
      let number = 0;
      // An admitted connection that never opened, as for a HEAD request.
      if (group?.clients.size === 0) await this.#close(id, group);
      for (const client of group?.clients.values() ?? []) {
        number += 1;
        if (client.subscriptions.size === 0 && client.idleSinceMs < idleBeforeMs) client.end();
        else if ((number + this.#part) % heartbeatParts === 0) client.heartbeat();
      }
    }
  }
}

/** Requests to other nodes, where there may be some. */
export interface OtherNodes {
  /** The beginning of the ids of this node's clients. */
  readonly node: string;
  noteOpened(): void;
  forward(instance: Instance, request: ClientRequest): Promise<void>;
}

export interface RealtimeOptions extends ConnectionLimits {
  readonly borrow: (instanceId: string) => Promise<Loan | undefined>;
  /** How many instances may have clients at the same time. */
  readonly instancesMax?: number;
  readonly safeEnd: SafeEnd;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** How often each client gets a message at least. */
  readonly heartbeatMs: number;
}

export interface SubscribeRequest extends RequestedSubscriptions {
  readonly clientId: string;
  readonly address: string;
}

/** A request about a client, which may be connected to another node. */
export type ClientRequest = SubscribeRequest | Message;

export interface Message {
  readonly clientId: string;
  /** From where it comes: messages are for clients at the same address. */
  readonly address: string;
  readonly name: string;
  /** JSON text. */
  readonly data: string;
}

/** The clients of one instance, which stays open for them. */
interface InstanceClients {
  readonly loan: Loan;
  readonly channel: Channel;
  /** By their ids. */
  readonly clients: Map<string, Client>;
  readonly counts: ConnectionCounts;
  /** Of the texts of all subscriptions together. */
  textLength: number;
  isOver: boolean;
}

/** The clients are divided into so many parts, which get their heartbeats one after the other. */
const heartbeatParts = 25;
/** How long a connection without any subscription stays open. */
const idleMs = 5 * 60_000;
/** How long clients wait after a stop, at least, before they connect again. */
const retryMs = 1_000;

const clientIdLength = 40;
const clientIdAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The id of a client where there may be several nodes begins with that of its node. */
function newClientId(node = ''): string {
  return node + randomText(clientIdLength - node.length, clientIdAlphabet);
}

export function unknownClient(): AppError {
  return new AppError('not_found', 'Missing or invalid client id.');
}

/** Throws forbidden when an authenticated client would change to another caller. */
function requireSameCaller(before: Caller, now: Caller): void {
  if (before.kind === 'guest' || isSame(before, now)) return;
  throw new AppError('forbidden', "The current and the previous request authorization don't match.");
}

function isSame(one: Caller, other: Caller): boolean {
  if (one.kind === 'guest' || other.kind === 'guest') return one.kind === other.kind;
  if (one.kind === 'user' && other.kind === 'user' && one.collectionId !== other.collectionId) return false;
  return one.kind === other.kind && one.id === other.id;
}
