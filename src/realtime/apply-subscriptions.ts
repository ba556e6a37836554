import type { Caller } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import { readTrimmed } from '../events/trimmed.ts';
import type { Instance } from '../instances/instance.ts';
import { parameterError } from '../query/list-parameters.ts';
import { openPosition } from '../secrets/seal-position.ts';
import { checkFilter } from './audience.ts';
import type { Channel } from './channel.ts';
import type { Client, Subscription } from './client.ts';
import { parseTopic, type Topic } from './topic.ts';

/** What a request asks for, and who makes it. */
export interface Asked {
  readonly subscriptions: readonly string[];
  readonly caller: Caller;
  /** The header by which the caller was found. */
  readonly authorization: string | undefined;
}

/** Returns the topics that are asked for, each once. Throws bad_request, forbidden. */
export function parseSubscriptions(instance: Instance, { subscriptions, caller }: Asked): readonly Topic[] {
  const topics = [...new Set(subscriptions)].map(parseTopic);
  const { collections, settings, sealer } = instance;
  for (const topic of topics) {
    const collection = collections.find(topic.key.slice(0, topic.key.indexOf('/')));
    if (collection !== undefined) {
      requireEvents(settings.current.webhooks.events);
      checkFilter(instance, { topic, caller }, collection);
    }
    if (topic.since !== undefined && topic.since !== '' && openPosition(sealer, topic.since) === undefined)
      throw parameterError('since', 'Expected a cursor of this instance.');
  }
  return topics;
}

/** What is told comes from the log: where changes are not in it, nobody could be told of them. */
function requireEvents(setting: string): void {
  if (setting === 'always') return;
  throw new AppError('bad_request', 'Changes are told only while the setting webhooks.events is `always`.');
}

export interface SubscribingClient {
  readonly instance: Instance;
  readonly channel: Channel;
  readonly client: Client;
}

/**
 * Gives a client these topics and takes all others from it. Resolves when it is told of what comes from now on; what it has missed before is
 * told in the background.
 */
export async function applySubscriptions(
  { instance, channel, client }: SubscribingClient,
  { topics, caller, authorization }: Asked & { readonly topics: readonly Topic[] },
): Promise<void> {
  const before = client.subscriptions;
  const after = new Map<string, Subscription>();
  for (const topic of topics)
    after.set(topic.text, before.get(topic.text) ?? newSubscription(instance, client, topic));
  for (const [text, subscription] of before) if (!after.has(text)) channel.leave(subscription);
  client.subscriptions = after;
  client.authorization = authorization;
  client.caller = caller;
  const added = [...after.values()].filter(({ topic }) => !before.has(topic.text));
  const fromNow = added.filter(({ position }) => position === Number.MAX_SAFE_INTEGER);
  if (fromNow.length > 0) await channel.passPresent();
  for (const subscription of fromNow) await channel.join(subscription);
  for (const subscription of added)
    if (!fromNow.includes(subscription)) void catchUp({ instance, channel, client }, subscription);
}

function newSubscription({ sealer }: Instance, client: Client, topic: Topic): Subscription {
  const position = topic.since ? openPosition(sealer, topic.since) : undefined;
  return { client, topic, position: position ?? Number.MAX_SAFE_INTEGER, isOver: false };
}

/** Tells a subscription what it has missed, then all that comes. */
async function catchUp(
  { instance, channel, client }: SubscribingClient,
  subscription: Subscription,
): Promise<void> {
  try {
    const trimmed = await readTrimmed(instance.database);
    if (subscription.position < trimmed.position)
      channel.sendResync(subscription, Math.max(trimmed.position, await channel.begin()));
    await channel.join(subscription);
  } catch (error) {
    instance.logger.warn('A realtime client could not be told what it has missed.', {
      instance: instance.id,
      error,
    });
    client.cut();
  }
}
