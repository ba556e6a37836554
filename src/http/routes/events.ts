import { recordEventKinds } from '../../events/event.ts';
import { listEvents, readEvent } from '../../webhooks/list-events.ts';
import { jsonAnswer, listParameters } from '../openapi/operation.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../openapi/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'webhooks', isForSuperusers: true, scope: 'webhooks:read', method: 'GET' } as const;

/** The log of events, for superusers. */
export const eventRoutes = [
  route({
    ...common,
    path: '/api/webhooks/events',
    id: 'listEvents',
    summary: 'A page of the log of events with their deliveries; of one record, its story',
    parameters: [...listParameters, 'RecordStory'],
    answers: { 200: jsonAnswer('The events.', schemaReference('EventList')) },
    handle: async (context) =>
      context.answerList(await listEvents(context.instance, context.listQuery, context.query.get('record'))),
  }),
  route({
    ...common,
    path: '/api/webhooks/events/:id',
    id: 'getEvent',
    summary: 'An event with its deliveries and its body',
    parameters: ['EventId', 'Fields'],
    answers: { 200: jsonAnswer('The event.', schemaReference('EventWithBody')) },
    handle: async (context) =>
      context.answer(JSON.stringify(await readEvent(context.instance.database, context.params.id))),
  }),
];

const text: Schema = { type: 'string' };
const members: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'The `webhook-id` that receivers see.' },
  kind: { enum: [...recordEventKinds, 'ping'] },
  collection: { type: 'string', description: 'Its name when it happened.' },
  record: { type: 'string', description: 'Its id.' },
  revision: { type: 'integer', minimum: 0 },
  created: text,
  deliveries: { type: 'array', items: schemaReference('Delivery') },
};

export const eventSchemas: Readonly<Record<string, Schema>> = {
  Event: objectSchema(members),
  EventList: listSchema(schemaReference('Event')),
  EventWithBody: objectSchema({
    ...members,
    body: { type: 'object', additionalProperties: true, description: 'What receivers get.' },
  }),
};
