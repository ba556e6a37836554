import { replayScopes } from '../../deliveries/replays/replay-store.ts';
import { requestBackfill } from '../../deliveries/endpoints/request-backfill.ts';
import { endReplay, replayView, requestReplay } from '../../deliveries/endpoints/request-replay.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';
import { savingOf } from './endpoints.ts';

const common = { tag: 'webhooks', isForSuperusers: true } as const;
const onOne = {
  ...common,
  endpointKeys: 'replay',
  path: '/api/webhooks/replays/:id',
  parameters: ['ReplayId', 'Fields'],
  answers: { 200: jsonAnswer('The replay.', schemaReference('Replay')) },
} as const;

/** Replays, which send past deliveries again, and backfills, which send existing records; for superusers. */
export const replayRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/api/webhooks/endpoints/:id/replay',
    id: 'replayEndpoint',
    endpointKeys: 'endpoint',
    scope: 'webhooks:write',
    summary: 'Replay past deliveries of an endpoint, or count them',
    parameters: ['EndpointId', 'Fields'],
    body: schemaReference('ReplayRequest'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The replay, or with `dryRun` the count.', schemaReference('ReplayOrCount')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance, params, body } = context;
      const replay = await requestReplay(savingOf(context), params.id, body);
      services.dispatcher.wake(instance.id);
      return context.answer(JSON.stringify(replay));
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/webhooks/endpoints/:id/backfill',
    id: 'backfillEndpoint',
    scope: 'webhooks:write',
    summary: 'Backfill: send the existing records of a collection to an endpoint, or count them',
    parameters: ['EndpointId', 'Fields'],
    body: schemaReference('BackfillRequest'),
    answers: {
      200: jsonAnswer('The backfill, or with `dryRun` the count.', schemaReference('ReplayOrCount')),
    },
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance, params, body } = context;
      const saving = { ...savingOf(context), records: instance.records };
      const backfill = await requestBackfill(saving, params.id, body);
      services.dispatcher.wake(instance.id);
      return context.answer(JSON.stringify(backfill));
    },
  }),
  route({
    ...onOne,
    method: 'GET',
    id: 'getReplay',
    scope: 'webhooks:read',
    summary: 'Get a replay or backfill with its progress',
    handle: async (context) =>
      context.answer(JSON.stringify(await replayView(context.instance.database, context.params.id))),
  }),
  route({
    ...onOne,
    method: 'DELETE',
    id: 'cancelReplay',
    scope: 'webhooks:write',
    summary: 'Cancel a replay or backfill and its unsent deliveries',
    refusals: [409, 413, 415, 507],
    handle: async (context) =>
      context.answer(JSON.stringify(await endReplay(savingOf(context), context.params.id))),
  }),
];

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const date: Schema = { type: ['string', 'null'], description: 'A date; null or empty for no limit.' };

export const replaySchemas: Readonly<Record<string, Schema>> = {
  ReplayRequest: objectSchema(
    {
      scope: {
        type: 'string',
        enum: replayScopes,
        description:
          'failed: what was exhausted, expired or cancelled; missing: all that was not delivered, also from before the endpoint was made; all: everything.',
      },
      filter: {
        type: 'string',
        description: 'Only events whose record matched this filter at the time, over its own fields.',
      },
      since: date,
      until: date,
      rate: {
        type: 'integer',
        minimum: 0,
        maximum: 10_000,
        description: 'Deliveries per second; 0 for no limit.',
      },
      dryRun: { type: 'boolean', description: 'Only counts.' },
    },
    ['scope', 'filter', 'since', 'until', 'rate', 'dryRun'],
  ),
  BackfillRequest: objectSchema(
    {
      collection: { type: 'string', description: 'The name or id of the collection.' },
      filter: {
        type: 'string',
        description: 'Only records that match this filter now.',
      },
      rate: {
        type: 'integer',
        minimum: 0,
        maximum: 10_000,
        description: 'Deliveries per second; 0 for no limit.',
      },
      dryRun: { type: 'boolean', description: 'Only counts.' },
    },
    ['filter', 'rate', 'dryRun'],
  ),
  Replay: objectSchema({
    id: text,
    endpoint: { type: 'string', description: 'Its id.' },
    scope: { type: 'string', enum: [...replayScopes, 'waiting', 'backfill', 'reconcile'] },
    collection: { type: 'string', description: 'Id of the collection of a backfill; otherwise empty.' },
    state: { type: 'string', enum: ['running', 'done', 'cancelled'] },
    cause: { type: 'string', description: 'Why the service cancelled it; otherwise empty.' },
    rate: count,
    filter: text,
    total: { ...count, description: 'The number of deliveries when it began.' },
    taken: { ...count, description: 'Deliveries queued or sent so far.' },
    delivered: count,
    failed: count,
    pending: count,
    created: text,
    updated: text,
  }),
  ReplayOrCount: { anyOf: [schemaReference('Replay'), objectSchema({ total: count })] },
};
