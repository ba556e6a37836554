import { type Caller, hasScope } from '../../access/caller.ts';
import { AppError } from '../../base/errors.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { readDate } from '../../base/read-date.ts';
import { invalidValue, unknownMembers } from '../../fields/field-error.ts';
import type { Instance } from '../../instances/instance.ts';
import { deleteConsumer, putConsumer, readConsumer } from '../../deliveries/log/consumers.ts';
import { feedPosition, parseFeedQuery, placeAt, readFeed } from '../../deliveries/log/feed.ts';
import { nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'webhooks', isForSuperusers: true } as const;
const onOne = { ...common, path: '/api/webhooks/consumers/:name' } as const;
const answers = { 200: jsonAnswer('The consumer.', schemaReference('Consumer')) };

/** The feed of events for receivers that ask for them, and those whose place is kept here. */
export const feedRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/webhooks/feed',
    id: 'readFeed',
    scope: 'webhooks:read',
    summary: 'List the events after a cursor, as endpoints receive them',
    parameters: [
      'FeedCursor',
      'Since',
      'Consumer',
      'Wait',
      'FeedPerPage',
      'Events',
      'Collections',
      'EventFilter',
      'Transitions',
      'Signed',
    ],
    answers: { 200: jsonAnswer('The events.', schemaReference('Feed')) },
    handle: async ({ services, instance, caller, request, query }) => {
      const { dispatcher, version, readiness } = services;
      const feedQuery = parseFeedQuery(query);
      if (feedQuery.signed !== undefined) requireSigner(caller);
      const json = await readFeed(instance, feedQuery, {
        safeEnd: dispatcher.safeEnd,
        isOver: () => request.isGone || readiness() === 'stopping',
        version,
      });
      return { status: 200, json, ...(feedQuery.signed !== undefined && { headers: notStored }) };
    },
  }),
  route({
    ...onOne,
    method: 'GET',
    id: 'getConsumer',
    scope: 'webhooks:read',
    summary: 'Get a consumer of the feed with its lag',
    parameters: ['ConsumerName', 'Fields'],
    answers,
    handle: async (context) =>
      context.answer(JSON.stringify(await readConsumer(context.instance.database, context.params.name))),
  }),
  route({
    ...onOne,
    method: 'PUT',
    id: 'putConsumer',
    scope: 'webhooks:write',
    summary: 'Create a consumer, or move it to a cursor or a time',
    parameters: ['ConsumerName', 'Fields'],
    body: schemaReference('ConsumerPlace'),
    isBodyOptional: true,
    answers,
    refusals: [507],
    handle: async (context) => {
      const { instance, params, body } = context;
      const position = await positionOf(instance, body);
      return context.answer(JSON.stringify(await putConsumer(instance, params.name, position)));
    },
  }),
  route({
    ...onOne,
    method: 'DELETE',
    id: 'deleteConsumer',
    scope: 'webhooks:write',
    summary: 'Delete a consumer',
    parameters: ['ConsumerName'],
    answers: { 204: emptyAnswer('The consumer is deleted.') },
    refusals: [413, 415, 507],
    handle: async ({ instance, params }) => {
      await deleteConsumer(instance, params.name);
      return nothing;
    },
  }),
];

/**
 * Throws forbidden for an API key that may only read webhooks. A signature of this moment makes a request that a receiver takes for one of
 * the service, and headers of an endpoint may be credentials: both are for who may see its secret.
 */
function requireSigner(caller: Caller): void {
  const scope = 'webhooks:write';
  if (!hasScope(caller, scope))
    throw new AppError('forbidden', `With signed, the API key needs the scope ${scope}.`);
}

/** Reads where a consumer is put: at the beginning of the log, unless a cursor or a time is given. */
async function positionOf(instance: Instance, body: Readonly<Record<string, unknown>>): Promise<number> {
  const { cursor = '', since = '' } = body;
  const details = { ...unknownMembers(body, ['cursor', 'since']) };
  if (typeof cursor !== 'string') details['cursor'] = invalidValue('Must be text.');
  const date = typeof since === 'string' ? (readDate(since) ?? '') : '';
  if (since !== '' && date === '') details['since'] = invalidValue('Must be a date.');
  if (cursor !== '' && since !== '') details['since'] = invalidValue('Not together with a cursor.');
  if (Object.keys(details).length > 0)
    throw new AppError('bad_request', 'Failed to put consumer.', { details });
  if (date !== '') return placeAt(instance.database, fromTimestamp(date));
  return cursor === ''
    ? (await readTrimmed(instance.database)).position
    : feedPosition(instance, String(cursor));
}

const text: Schema = { type: 'string' };

export const feedSchemas: Readonly<Record<string, Schema>> = {
  Feed: objectSchema({
    items: { type: 'array', items: schemaReference('FeedItem') },
    nextCursor: {
      type: 'string',
      description: 'The cursor for the next request, also if there were no events.',
    },
  }),
  FeedItem: objectSchema(
    {
      id: { type: 'string', description: 'The `webhook-id` that endpoints get.' },
      sequence: { type: 'integer', minimum: 0, description: "The record's revision." },
      payload: { type: 'object', additionalProperties: true, description: 'The five members.' },
      transition: {
        type: 'string',
        enum: ['enter', 'leave'],
        description: 'With `transitions`: the record has come to meet the filter, or meets it no more.',
      },
      body: { type: 'string', description: 'With `signed`: the signed text of the payload.' },
      headers: { type: 'object', additionalProperties: text },
    },
    ['transition', 'body', 'headers'],
  ),
  Consumer: objectSchema({
    name: text,
    lag: {
      type: 'integer',
      minimum: 0,
      description: 'Number of events after its position, at most 100,000.',
    },
    created: text,
    updated: text,
  }),
  ConsumerPlace: objectSchema({ cursor: text, since: text }, ['cursor', 'since']),
};
