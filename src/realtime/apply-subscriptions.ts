import type { Caller } from '../access/caller.ts';
import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import { findLostEvents } from '../events/lost-events.ts';
import { isAhead } from '../events/log-horizon.ts';
import { readTrimmed } from '../events/trimmed.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { parameterError } from '../query/list-parameters.ts';
import { openPosition } from '../secrets/seal-position.ts';
import { checkFilter } from './audience.ts';
import type { Channel } from './channel.ts';
import type { Client, Subscription } from './client.ts';
import { lastPosition } from './read-changes.ts';
import { parseTopic, type Topic } from './topic.ts';

/** The subscriptions of a request, and its caller. */
export interface RequestedSubscriptions {
  readonly subscriptions: readonly string[];
  readonly caller: Caller;
  /** The header that authenticated the caller. */
  readonly authorization: string | undefined;
}

export const realtimeLimits = {
  subscriptionsMax: 1_000,
  subscriptionLengthMax: 2_500,
  clientIdLengthMax: 255,
  /** Subscriptions of a connection with a filter, transitions or related records: each is conditional for each change. */
  conditionsMax: 100,
  /** Characters of the subscriptions of an instance together. */
  textLengthMax: 32 * 1024 * 1024,
} as const;

/** Throws bad_request when a member of a request is invalid. */
export function requireForm(
  request: Pick<RequestedSubscriptions, 'subscriptions'> & { readonly clientId: string },
): void {
  const details = problemsOf(request);
  if (details !== undefined)
    throw new AppError('bad_request', 'Failed to set the subscriptions.', { details });
}

function problemsOf({ clientId, subscriptions }: Parameters<typeof requireForm>[0]): FieldErrors | undefined {
  const { subscriptionsMax, subscriptionLengthMax, clientIdLengthMax } = realtimeLimits;
  if (clientId === '') return { clientId: fieldError('validation_required') };
  if (clientId.length > clientIdLengthMax)
    return { clientId: fieldError('validation_length_out_of_range', { min: 1, max: clientIdLengthMax }) };
  if (subscriptions.length > subscriptionsMax)
    return { subscriptions: fieldError('validation_length_too_long', { min: 0, max: subscriptionsMax }) };
  const problems: [at: string, problem: FieldError][] = [];
  for (const [at, one] of subscriptions.entries()) {
    if (one === '') problems.push([String(at), fieldError('validation_required')]);
    if (one.length > subscriptionLengthMax)
      problems.push([
        String(at),
        fieldError('validation_length_too_long', { min: 0, max: subscriptionLengthMax }),
      ]);
  }
  return problems.length === 0 ? undefined : { subscriptions: Object.fromEntries(problems) };
}

/** The topics of a request that are right, and what is wrong with the others, by their texts. */
export interface ParsedSubscriptions {
  readonly topics: readonly Topic[];
  readonly refusals: ReadonlyMap<string, AppError>;
}

/** Parses the requested topics, each once. Throws bad_request for too many. */
export function parseSubscriptions(
  instance: Instance,
  { subscriptions, caller }: RequestedSubscriptions,
): ParsedSubscriptions {
  const topics: Topic[] = [];
  const refusals = new Map<string, AppError>();
  for (const text of new Set(subscriptions)) {
    try {
      topics.push(parseAllowed(instance, { text, caller }));
    } catch (error) {
      if (!(error instanceof AppError) || !isRefusal(error)) throw error;
      refusals.set(text, error);
    }
  }
  const conditional = topics.filter(
    ({ filter, query, transitions }) => filter !== undefined || transitions || query.get('expand'),
  );
  if (conditional.length > realtimeLimits.conditionsMax)
    throw new AppError(
      'bad_request',
      `At most ${realtimeLimits.conditionsMax} subscriptions may have a filter, transitions or related records.`,
    );
  return { topics, refusals };
}

/** Throws bad_request, forbidden. */
function parseAllowed(
  instance: Instance,
  { text, caller }: { readonly text: string; readonly caller: Caller },
): Topic {
  const { collections, settings, sealer } = instance;
  const topic = parseTopic(text);
  const collection = collections.find(topic.key.slice(0, topic.key.indexOf('/')));
  if (collection !== undefined) {
    requireEvents(settings.current.webhooks.events);
    checkFilter(instance, { topic, caller }, collection);
  }
  if (topic.since !== undefined && topic.since !== '' && openPosition(sealer, topic.since) === undefined)
    throw parameterError('since', 'Expected a cursor of this instance.');
  return topic;
}

function isRefusal({ code }: AppError): boolean {
  return code === 'bad_request' || code === 'forbidden';
}

/**
 * Reports the topics that were refused: by an error where the client has not been told, and otherwise by a message `PB_ERROR`, as a
 * client sends all its topics again with each new one. Throws bad_request.
 */
export function reportRefusals(
  client: Client,
  { refusals, reported }: Pick<ParsedSubscriptions, 'refusals'> & { readonly reported: ReadonlySet<string> },
): void {
  const problems: [string, FieldError][] = [];
  let message: string | undefined;
  for (const [topic, error] of refusals) {
    if (reported.has(topic)) {
      client.send('PB_ERROR', JSON.stringify({ topic, message: error.message }));
      continue;
    }
    message ??= error.message;
    problems.push([topic, { code: 'validation_invalid_subscription', message: error.message }]);
  }
  if (message === undefined) return;
  throw new AppError('bad_request', message, { details: { subscriptions: Object.fromEntries(problems) } });
}

/** Clients get what the event log has: without it there is nothing to send. */
function requireEvents(setting: string): void {
  if (setting === 'always') return;
  throw new AppError('bad_request', 'The event log is kept only when webhooks.events is `always`.');
}

export interface SubscribingClient {
  readonly instance: Instance;
  readonly channel: Channel;
  readonly client: Client;
}

/**
 * Replaces the topics of a client. Resolves when it gets the changes from now on; changes that it has missed are sent in the
 * background.
 */
export async function applySubscriptions(
  { instance, channel, client }: SubscribingClient,
  { topics, caller, authorization }: RequestedSubscriptions & { readonly topics: readonly Topic[] },
): Promise<void> {
  const before = client.subscriptions;
  const after = new Map<string, Subscription>();
  for (const topic of topics)
    after.set(topic.text, before.get(topic.text) ?? newSubscription(instance, client, topic));
  for (const [text, subscription] of before) if (!after.has(text)) channel.remove(subscription);
  client.subscriptions = after;
  client.authorization = authorization;
  client.caller = caller;
  const added = [...after.values()].filter(({ topic }) => !before.has(topic.text));
  const fromNow = added.filter(({ position }) => position === Number.MAX_SAFE_INTEGER);
  if (fromNow.length > 0) await channel.flush();
  for (const subscription of fromNow) await channel.join(subscription);
  const resumed = added.filter((one) => !fromNow.includes(one));
  const requestedAt = resumed.length > 0 ? await lastPosition(instance.database) : 0;
  for (const subscription of resumed) {
    subscription.requestedAt = requestedAt;
    void catchUp({ instance, channel, client }, subscription);
  }
}

function newSubscription({ sealer }: Instance, client: Client, topic: Topic): Subscription {
  const position = topic.since ? openPosition(sealer, topic.since) : undefined;
  return { client, topic, position: position ?? Number.MAX_SAFE_INTEGER, requestedAt: 0, isOver: false };
}

/** Sends a subscription the changes that it has missed, then all later ones. */
async function catchUp(
  { instance, channel, client }: SubscribingClient,
  subscription: Subscription,
): Promise<void> {
  try {
    const trimmed = await readTrimmed(instance.database);
    const { position } = subscription;
    const isLost = (await findLostEvents(instance.database, position)) !== undefined;
    if (position < trimmed.position || isLost || (await isAhead(instance.database, position)))
      channel.sendResync(subscription, Math.max(trimmed.position, await channel.begin()));
    await channel.join(subscription);
  } catch (error) {
    instance.logger.warn('Sending missed changes to a realtime client failed.', {
      instance: instance.id,
      error,
    });
    client.disconnect();
  }
}
