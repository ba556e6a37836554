import type { Caller } from '../access/caller.ts';
import type { Clock } from '../base/clock.ts';
import { AppError, busy, notFound, stopping, tooManyRequests } from '../base/errors.ts';
import { randomText, randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import type { SafeEnd } from '../events/log-horizon.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import { Channel } from './channel.ts';
import { Client, type ClientCounts, type Outlet } from './client.ts';
import { ConnectionCounts, type ConnectionLimits } from './connection-counts.ts';
import {
  type RequestedSubscriptions,
  applySubscriptions,
  lengthOf,
  parseSubscriptions,
  realtimeLimits,
  requireForm,
} from './apply-subscriptions.ts';

/**
 * Clients that are told of changes as they happen, over connections that stay open (Server-Sent Events; http-api.md section 16).
 *
 *   realtime         the clients of all instances: connects and disconnects them, keeps them within limits
 *   client           one connection and its subscriptions; topic, one subscription as it was written
 *   apply-subscriptions   a request that replaces the subscriptions of a client, with all of its checks
 *   channel          reads the event log of an instance, and tells each change to those who may see it
 *   audience         those who are told the same of a change, and what that is
 *   callers          who a client is by now
 *
 * Writes know nothing of this: what is told is what the event log has, in its order.
 */
export class Realtime {
  readonly #options: RealtimeOptions;
  readonly #rooms = new Map<string, Promise<Room>>();
  readonly #timer: NodeJS.Timeout;
  readonly #counts: ClientCounts = { connections: 0, messages: 0 };
  #nodes: OtherNodes | undefined;
  #part = 0;
  #isStopping = false;

  constructor(options: RealtimeOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#tick(), options.beatMs / beatsParts).unref();
  }

  /**
   * Returns what takes a connection in, once its headers are sent, and returns what is to be called when it is closed. Throws too_many_requests,
   * unavailable.
   */
  async admit(instanceId: string, address: string): Promise<(outlet: Outlet) => () => void> {
    const room = await this.#enter(instanceId);
    room.counts.requireRoom(address);
    return (outlet) => {
      const client = this.#connect(room, address, outlet);
      return () => this.#disconnect(instanceId, room, client);
    };
  }

  #connect(room: Room, address: string, outlet: Outlet): Client {
    const nowMs = this.#options.clock.monotonic();
    const client = new Client(outlet, {
      id: newClientId(this.#nodes?.node),
      connection: room.counts.add(address),
      nowMs,
      counts: this.#counts,
    });
    room.clients.set(client.id, client);
    this.#counts.connections += 1;
    client.send('PB_CONNECT', JSON.stringify({ clientId: client.id }));
    // The stop, or the last one to leave, came in between.
    if (room.isOver) client.end();
    return client;
  }

  #disconnect(instanceId: string, room: Room, client: Client): void {
    client.noteClosed();
    if (!room.clients.delete(client.id)) return;
    this.#counts.connections -= 1;
    for (const subscription of client.subscriptions.values()) room.channel.leave(subscription);
    room.textLength -= lengthOf([...client.subscriptions.keys()]);
    room.counts.remove(client.connection);
    if (room.clients.size === 0) void this.#leave(instanceId, room);
  }

  /**
   * Replaces the subscriptions of a client, which from now on is told what the caller may see. Throws not_found (no such client), bad_request,
   * forbidden (the client is somebody else's).
   */
  async subscribe(instance: Instance, request: SubscribeRequest): Promise<void> {
    requireForm(request);
    const room = await this.#rooms.get(instance.id);
    const client = room?.clients.get(request.clientId);
    if (room === undefined || client === undefined || client.isClosed)
      return this.#askOthers(instance, request);
    if (client.address !== request.address) throw new AppError('bad_request', 'Invalid realtime client.');
    requireSameCaller(await room.channel.callers.of(client), request.caller);
    const length = lengthOf(request.subscriptions) - lengthOf([...client.subscriptions.keys()]);
    if (room.textLength + length > realtimeLimits.textLengthMax) throw tooManyRequests(5);
    const topics = parseSubscriptions(instance, request);
    room.counts.assign(client.connection, request.caller);
    room.textLength += lengthOf(topics.map(({ text }) => text)) - lengthOf([...client.subscriptions.keys()]);
    client.idleSinceMs = this.#options.clock.monotonic();
    await applySubscriptions({ instance, channel: room.channel, client }, { ...request, topics });
  }

  /** Another node may have the client. */
  async #askOthers(instance: Instance, request: SubscribeRequest): Promise<void> {
    if (this.#nodes === undefined) throw unknownClient();
    await this.#nodes.ask(instance, request);
  }

  /** Sends a client a message that is about no record. Returns false when it is not connected, or has not subscribed to that name. */
  async sendMessage(instanceId: string, clientId: string, message: Message): Promise<boolean> {
    const room = await this.#rooms.get(instanceId);
    const client = room?.clients.get(clientId);
    if (client?.subscriptions.has(message.name) !== true) return false;
    client.send(message.name, message.data);
    return true;
  }

  /** The ids of the instances that have clients here. */
  instanceIds(): readonly string[] {
    return [...this.#rooms.keys()];
  }

  /** Sets who knows the clients of other nodes. */
  setNodes(nodes: OtherNodes): void {
    this.#nodes = nodes;
  }

  /** How many clients are connected now. */
  get connections(): number {
    return this.#counts.connections;
  }

  /** How many messages were sent to clients. */
  get messages(): number {
    return this.#counts.messages;
  }

  /** Ends all connections. Clients are told to wait for a moment before they connect again, not all of them for the same. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const [id, opening] of this.#rooms) {
      const room = await opening.catch(() => undefined);
      if (room === undefined) continue;
      for (const client of room.clients.values()) client.end(Math.round(retryMs * (1 + randomUnit())));
      await this.#leave(id, room);
    }
  }

  async #enter(instanceId: string): Promise<Room> {
    if (this.#isStopping) throw stopping();
    let opening = this.#rooms.get(instanceId);
    if (opening === undefined) {
      // An instance stays open for its clients, and requests to others need room as well.
      if (this.#rooms.size >= (this.#options.instancesMax ?? Number.POSITIVE_INFINITY)) throw busy();
      opening = this.#open(instanceId);
      this.#rooms.set(instanceId, opening);
      this.#nodes?.noteOpened();
      opening.catch(() => this.#rooms.delete(instanceId));
    }
    const room = await opening;
    // The last of its clients may have left while this one waited.
    return this.#rooms.get(instanceId) === opening ? room : this.#enter(instanceId);
  }

  async #open(instanceId: string): Promise<Room> {
    const { borrow, safeEnd, logger } = this.#options;
    const loan = await borrow(instanceId);
    if (loan === undefined) throw notFound();
    const onError = (error: unknown): void =>
      logger.warn('Changes could not be told to realtime clients; trying again.', {
        instance: instanceId,
        error,
      });
    const channel = new Channel({ instance: loan.instance, safeEnd, onError });
    const nowMs = (): number => this.#options.clock.monotonic();
    const counts = new ConnectionCounts(this.#options, { logger, instance: instanceId, nowMs });
    return { loan, channel, clients: new Map(), counts, textLength: 0, isOver: false };
  }

  /** Lets the instance go: nobody of it is connected. */
  async #leave(instanceId: string, room: Room): Promise<void> {
    if (room.isOver) return;
    room.isOver = true;
    this.#rooms.delete(instanceId);
    await room.channel.stop();
    room.loan.release();
  }

  /** Beats for some of the clients, so that not all are written to at once. */
  async #tick(): Promise<void> {
    this.#part += 1;
    const idleBeforeMs = this.#options.clock.monotonic() - idleMs;
    for (const [id, opening] of this.#rooms) {
      const room = await opening.catch(() => undefined);
      let number = 0;
      // Of one that was let in and never came, as nobody reads the answer to a HEAD.
      if (room?.clients.size === 0) await this.#leave(id, room);
      for (const client of room?.clients.values() ?? []) {
        number += 1;
        if (client.subscriptions.size === 0 && client.idleSinceMs < idleBeforeMs) client.end();
        else if ((number + this.#part) % beatsParts === 0) client.beat();
      }
    }
  }
}

/** What is asked of other nodes, where there may be some. */
export interface OtherNodes {
  /** The beginning of the ids of this node's clients. */
  readonly node: string;
  noteOpened(): void;
  ask(instance: Instance, request: SubscribeRequest): Promise<void>;
}

export interface RealtimeOptions extends ConnectionLimits {
  readonly borrow: (instanceId: string) => Promise<Loan | undefined>;
  /** How many instances may have clients at the same time. */
  readonly instancesMax?: number;
  readonly safeEnd: SafeEnd;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** How often something is sent to each client at least. */
  readonly beatMs: number;
}

export interface SubscribeRequest extends RequestedSubscriptions {
  readonly clientId: string;
  readonly address: string;
}

export interface Message {
  readonly name: string;
  /** JSON text. */
  readonly data: string;
}

/** The clients of one instance, which stays open for them. */
interface Room {
  readonly loan: Loan;
  readonly channel: Channel;
  /** By their ids. */
  readonly clients: Map<string, Client>;
  readonly counts: ConnectionCounts;
  /** Of the texts of all subscriptions together. */
  textLength: number;
  isOver: boolean;
}

/** Into so many parts clients are divided, which are written to one after the other. */
const beatsParts = 25;
/** How long a connection without any subscription is kept. */
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

/** Throws forbidden when a client that was somebody is to become somebody else. */
function requireSameCaller(before: Caller, now: Caller): void {
  if (before.kind === 'guest' || isSame(before, now)) return;
  throw new AppError('forbidden', "The current and the previous request authorization don't match.");
}

function isSame(one: Caller, other: Caller): boolean {
  if (one.kind === 'guest' || other.kind === 'guest') return one.kind === other.kind;
  if (one.kind === 'user' && other.kind === 'user' && one.collectionId !== other.collectionId) return false;
  return one.kind === other.kind && one.id === other.id;
}
