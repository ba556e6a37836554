import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, guest } from '../access/caller.ts';
import { Signal } from '../events/event-log.ts';
import { Turns } from '../base/turns.ts';
import type { Collection } from '../collections/collection.ts';
import type { SafeEnd } from '../events/log-horizon.ts';
import { withCurrentDefinitions } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { eventRecord } from '../records/event-record.ts';
import { findRecord } from '../records/find-record.ts';
import type { StoredRecord } from '../records/record.ts';
import { sealPosition } from '../secrets/seal-position.ts';
import { type Audience, audienceKey, dependsOnCaller } from './audience.ts';
import { Callers } from './callers.ts';
import { type ChangeMessage, messagesTo, stateBefore } from './change-messages.ts';
import type { Subscription } from './client.ts';
import { pastMessage, UnknownState } from './past-changes.ts';
import { type Change, lastPosition, readChanges } from './read-changes.ts';
import { topicKey } from './topic.ts';

export interface ChannelOptions {
  readonly instance: Instance;
  readonly safeEnd: SafeEnd;
  /** Gets the errors of reading the log. It is retried. */
  readonly onError: (error: unknown) => void;
}

/** How long it waits for a hint before it polls for events of other nodes or of a command. */
const lookMs = { alone: 1_000, amongNodes: 250 } as const;
/** How long a commit may take to become safe, before the log is read in any case. */
const safeMs = 250;
const retryMs = 500;
/** How long a subscription waits for earlier commits. */
const presentMs = 1_000;
/** Clients that catch up at the same time, a part of the log each. */
const catchUpsMax = 8;
/** Audiences evaluated together, by one statement if they differ only in the caller. */
const togetherMax = 32;
/** Callers that are looked up together: one after the other, hundreds of them would take hundreds of round trips to PostgreSQL. */
const lookUpsMax = 256;

/**
 * Reads the event log of one instance while it has subscribers, and sends each change to the clients that may see it. Clients get the
 * changes in the order of the log, which is that of the commits, each once.
 */
export class Channel {
  readonly callers: Callers;
  readonly #options: ChannelOptions;
  /** Live subscriptions by the keys of their topics. */
  readonly #live = new Map<string, Set<Subscription>>();
  /** Everything up to this position of the log was sent. */
  #position: number | undefined;
  #beginning: Promise<number> | undefined;
  #reading: Promise<void> | undefined;
  readonly #catchUps = new Turns(catchUpsMax);
  readonly #moved = new Signal();
  #isStopped = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.callers = new Callers(options.instance);
  }

  /** Begins at the end of the log, unless it has begun. Returns the position up to which everything was sent. */
  async begin(): Promise<number> {
    this.#beginning ??= this.#readEnd();
    try {
      this.#position ??= await this.#beginning;
    } catch (error) {
      this.#beginning = undefined;
      throw error;
    }
    this.#reading ??= this.#read();
    return this.#position;
  }

  /** Sends the subscription all changes behind its position, and then each change as it comes. */
  async join(subscription: Subscription): Promise<void> {
    for (;;) {
      const upTo = await this.begin();
      if (this.#isClosed(subscription)) return;
      if (subscription.position === Number.MAX_SAFE_INTEGER) subscription.position = upTo;
      // Without a wait in between: the next change finds it here.
      if (subscription.position >= upTo) break;
      await this.#catchUps.run(() => this.#catchUp(subscription, upTo));
      await subscription.client.drained();
    }
    const { key } = subscription.topic;
    this.#live.getOrInsertComputed(key, () => new Set()).add(subscription);
  }

  /**
   * Resolves when everything that is in the log now was sent, so that a later subscription gets nothing before it. That takes until the log
   * is safe; it does not wait while another transaction holds that up.
   */
  async flush(): Promise<void> {
    const { database, clock } = this.#options.instance;
    await this.begin();
    if (!database.names.isConcurrent) return;
    const last = await lastPosition(database);
    const endMs = clock.monotonic() + presentMs;
    for (;;) {
      const leftMs = endMs - clock.monotonic();
      if (leftMs <= 0 || this.#isStopped || (this.#position ?? 0) >= last) return;
      this.#options.safeEnd.hurry();
      await this.#moved.wait(leftMs);
    }
  }

  /** Sends a subscription some of the changes that it has missed. */
  async #catchUp(subscription: Subscription, upTo: number): Promise<void> {
    const { instance } = this.#options;
    const range = { from: subscription.position, upTo };
    const { changes, last, isWhole } = await readChanges(instance.database, range);
    for (const change of changes) {
      if (this.#isClosed(subscription)) return;
      if (keysOf(change).includes(subscription.topic.key) && !(await this.#sendMissed(change, subscription)))
        return;
      subscription.position = change.position;
      if (subscription.client.isBehind) return;
    }
    subscription.position = isWhole ? upTo : last;
  }

  #isClosed({ isOver, client }: Subscription): boolean {
    return isOver || client.isClosed || this.#isStopped;
  }

  /** Sends a subscription a change from before it. Returns false after a `resync`, where missed changes cannot be sent. */
  async #sendMissed(change: Change, subscription: Subscription): Promise<boolean> {
    try {
      await withCurrentDefinitions(() => this.#sendPast(change, subscription));
      return true;
    } catch (error) {
      if (!(error instanceof UnknownState)) throw error;
      this.sendResync(subscription, this.#position ?? change.position);
      return false;
    }
  }

  async #sendPast(change: Change, subscription: Subscription): Promise<void> {
    const { instance } = this.#options;
    const collection = instance.collections.find(change.collection);
    if (collection === undefined) return;
    const { topic } = subscription;
    const caller = await this.#callerFor(collection, subscription);
    if (caller.kind === 'superuser') return this.#sendToAll(change, [subscription]);
    const message = await pastMessage(instance, { topic, caller }, { collection, change });
    if (message !== undefined) this.#send(this.#cursorOf(change), message, [subscription]);
  }

  /** Reports that some missed changes can no longer be sent, and continues behind a position. */
  sendResync(subscription: Subscription, position: number): void {
    const { client, topic } = subscription;
    const cursor = sealPosition(this.#options.instance.sealer, position);
    client.send(topic.text, `{"record":{},"action":"resync","cursor":"${cursor}"}`);
    subscription.position = position;
  }

  remove(subscription: Subscription): void {
    subscription.isOver = true;
    const { key } = subscription.topic;
    const others = this.#live.get(key);
    others?.delete(subscription);
    if (others?.size === 0) this.#live.delete(key);
  }

  /** Stops reading; resolves when the last read has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#options.instance.events.wake();
    await this.#reading;
  }

  async #readEnd(): Promise<number> {
    const { instance, safeEnd } = this.#options;
    const last = await lastPosition(instance.database);
    if (!instance.database.names.isConcurrent || last === 0) return last;
    // A position that is not safe yet was committed a moment ago, or is about to be. A node that has just started has no safe position yet.
    while (safeEnd.safePosition === 0 && !this.#isStopped) await safeEnd.nextSafe(safeMs);
    return safeEnd.safePosition;
  }

  async #read(): Promise<void> {
    const { instance, onError } = this.#options;
    // Before each read: a commit during it causes another one.
    let next = instance.events.next(this.#lookMs);
    while (!this.#isStopped) {
      try {
        if (await this.#readOn()) continue;
        await next;
        next = instance.events.next(this.#lookMs);
        if (instance.database.names.isConcurrent) await this.#options.safeEnd.nextSafe(safeMs);
      } catch (error) {
        onError(error);
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  get #lookMs(): number {
    return this.#options.instance.database.names.isConcurrent ? lookMs.amongNodes : lookMs.alone;
  }

  /** Sends the changes since. Returns whether there may be more. */
  async #readOn(): Promise<boolean> {
    const { instance, safeEnd } = this.#options;
    const from = this.#position ?? 0;
    const { isConcurrent } = instance.database.names;
    const upTo = isConcurrent ? safeEnd.safePosition : Number.MAX_SAFE_INTEGER;
    if (upTo <= from) return false;
    const { changes, last, isWhole } = await readChanges(instance.database, { from, upTo });
    for (const change of changes) {
      this.#position = change.position;
      const matching = this.#matching(change);
      await this.#deliver(change, matching);
      // Sockets drain in between: only then does it show which clients do not read.
      if (matching.length > 0) await nextTurn();
      if (this.#isStopped) return false;
    }
    this.#position = isWhole && isConcurrent ? upTo : last;
    this.#moved.notify();
    return !isWhole;
  }

  /** The live subscriptions to the record of a change. */
  #matching(change: Change): readonly Subscription[] {
    const about = keysOf(change).flatMap((key) => [...(this.#live.get(key) ?? [])]);
    // A client that comes from another node may have got more there than is safe here.
    return about.filter(({ position }) => position < change.position);
  }

  /** Sends a change to the subscriptions whose clients may see it. Nothing else is sent meanwhile. */
  async #deliver(change: Change, subscriptions: readonly Subscription[]): Promise<void> {
    if (subscriptions.length === 0) return;
    // The reader may be behind the end of the log at the request.
    const late = subscriptions.filter(({ requestedAt }) => requestedAt >= change.position);
    const live = subscriptions.filter(({ requestedAt }) => requestedAt < change.position);
    try {
      for (const subscription of late) await this.#sendMissed(change, subscription);
      if (live.length > 0) await withCurrentDefinitions(() => this.#sendToAll(change, live));
    } catch (error) {
      // They miss this change, and later ones would hide that: after a reconnect they read the current state.
      for (const { client } of subscriptions) client.disconnect();
      this.#options.onError(error);
    }
  }

  async #sendToAll(change: Change, subscriptions: readonly Subscription[]): Promise<void> {
    const { instance } = this.#options;
    const collection = instance.collections.find(change.collection);
    if (collection === undefined) return;
    const record = await this.#stateOf(collection, change);
    const { action, record: id } = change;
    const isWatched = action === 'update' && subscriptions.some(({ topic }) => topic.transitions);
    const before = isWatched ? await stateBefore(instance, collection, change) : undefined;
    const groups = await this.#groups(collection, subscriptions);
    const messages: (ChangeMessage | undefined)[] = [];
    for (let at = 0; at < groups.length; at += togetherMax) {
      const audiences = groups.slice(at, at + togetherMax).map(({ audience }) => audience);
      messages.push(...(await messagesTo(instance, audiences, { action, id, record, before })));
      // Yields in between, however many callers there are.
      if (at + togetherMax < groups.length) await nextTurn();
    }
    // Written only now, in one turn: after an error above nothing was sent.
    const cursor = this.#cursorOf(change);
    for (const [index, { members }] of groups.entries()) {
      const message = messages[index];
      if (message !== undefined) this.#send(cursor, message, members);
    }
  }

  #cursorOf({ position }: Change): string {
    return sealPosition(this.#options.instance.sealer, position);
  }

  #send(cursor: string, { action, json }: ChangeMessage, members: readonly Subscription[]): void {
    // A message is one line; in JSON, line breaks stand only where blanks may.
    const data = `{"record":${json.replaceAll(/[\r\n]/g, ' ')},"action":"${action}"`;
    for (const { client, topic, isOver } of members) {
      if (isOver) continue;
      client.send(topic.text, topic.since === undefined ? `${data}}` : `${data},"cursor":"${cursor}"}`);
    }
  }

  /** The record as the change left it. Throws UnknownState where neither the event nor the table has all of it any more. */
  async #stateOf(collection: Collection, change: Change): Promise<StoredRecord> {
    const record = eventRecord(collection, change);
    if (record !== undefined) return record;
    // The definition has changed since: the table has what the event lacks.
    const { database } = this.#options.instance;
    const stored =
      change.action === 'delete' ? undefined : await findRecord(database, collection, change.record);
    if (stored?.revision === change.revision) return stored;
    throw new UnknownState();
  }

  /** Groups subscriptions whose clients get the same message. Callers are authenticated again only where that matters. */
  async #groups(collection: Collection, subscriptions: readonly Subscription[]): Promise<readonly Group[]> {
    const groups = new Map<string, Group>();
    for (let at = 0; at < subscriptions.length; at += lookUpsMax) {
      const together = subscriptions.slice(at, at + lookUpsMax);
      const callers = await Promise.all(together.map((one) => this.#callerFor(collection, one)));
      for (const [index, subscription] of together.entries()) {
        const audience = { topic: subscription.topic, caller: callers[index] ?? guest };
        const members = groups.getOrInsertComputed(audienceKey(audience, collection), () => ({
          audience,
          members: [],
        }));
        members.members.push(subscription);
      }
    }
    return [...groups.values()];
  }

  async #callerFor(collection: Collection, { client, topic }: Subscription): Promise<Caller> {
    const isDecided = client.caller?.kind !== 'superuser' && !dependsOnCaller(topic, collection);
    return isDecided ? guest : this.callers.of(client);
  }
}

interface Group {
  readonly audience: Audience;
  readonly members: Subscription[];
}

/** The keys of the topics of a change's record, whose collection has an id and had a name. */
function keysOf({ collection, collectionName, record }: Change): readonly string[] {
  const keys = [collectionName, collection].flatMap((one) => [topicKey(one, '*'), topicKey(one, record)]);
  return [...new Set(keys)];
}
