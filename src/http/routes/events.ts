import { eventKinds, operationalEventKinds, recordEventKinds } from '../../events/event.ts';
import { withCurrentDefinitions } from '../../instances/current-collection.ts';
import { expungeEvent } from '../../deliveries/log/expunge-event.ts';
import { listEvents, readEvent } from '../../deliveries/log/list-events.ts';
import { testFilter } from '../../deliveries/log/test-filter.ts';
import { deliveryStatuses } from '../../deliveries/delivery.ts';
import { explainEvent } from '../../deliveries/why/explain-event.ts';
import { changedMembers, reasons } from '../../deliveries/why/explanation.ts';
import { endpointStatuses } from '../../endpoints/endpoint.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { cursorListSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const shared = { tag: 'webhooks', isForSuperusers: true, scope: 'webhooks:read' } as const;
const common = { ...shared, method: 'GET' } as const;

/** The log of events, for superusers. */
export const eventRoutes = [
  route({
    ...common,
    path: '/api/webhooks/events',
    id: 'listEvents',
    endpointKeys: 'narrowed',
    summary: 'List events with their deliveries; of one record, its history',
    parameters: [...listParameters, 'Cursor', 'RecordStory'],
    answers: { 200: jsonAnswer('The events.', schemaReference('EventList')) },
    handle: async (context) => {
      const { instance, listQuery, query, caller } = context;
      const record = query.get('record') || null;
      return context.answerList(await listEvents(instance, listQuery, { record, caller }));
    },
  }),
  route({
    ...common,
    path: '/api/webhooks/events/:id',
    id: 'getEvent',
    endpointKeys: 'narrowed',
    summary: 'Get an event with its deliveries and its body',
    parameters: ['EventId', 'Fields'],
    answers: { 200: jsonAnswer('The event.', schemaReference('EventWithBody')) },
    handle: async (context) =>
      context.answer(JSON.stringify(await readEvent(context.instance, context.params.id, context.caller))),
  }),
  route({
    ...common,
    path: '/api/webhooks/events/:id/why',
    id: 'explainEvent',
    isCurrent: true,
    summary: 'Explain why each endpoint received an event, or did not',
    description:
      'A page of endpoints in order of creation. It may be shorter than `perPage` if their filters take long. Filters are evaluated again, with the values of the event.',
    parameters: ['EventId', 'WhyEndpoint', 'PerPage', 'Cursor', 'Fields'],
    answers: { 200: jsonAnswer('The endpoints.', schemaReference('EventExplanation')) },
    handle: async (context) => {
      const { instance, params, caller, query, listQuery } = context;
      const request = { caller, endpoint: query.get('endpoint') || null, query: listQuery };
      const page = await withCurrentDefinitions(() => explainEvent(instance, params.id, request));
      return context.answer(JSON.stringify(page));
    },
  }),
  route({
    ...shared,
    method: 'DELETE',
    scope: 'webhooks:write',
    path: '/api/webhooks/events/:id/body',
    id: 'expungeEvent',
    summary: 'Expunge an event: delete its body and the responses of receivers',
    description: 'The event itself stays. Its pending deliveries are cancelled.',
    parameters: ['EventId'],
    answers: { 204: emptyAnswer('The body is deleted.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ services, instance, input, params }) => {
      await expungeEvent(instance, params.id, (tx, { id, collection }) =>
        instance.audit.append(tx, input, { action: 'event.expunge', target: id, collection }),
      );
      // What has waited behind it may be sent now.
      services.dispatcher.wake(instance.id);
      return nothing;
    },
  }),
  route({
    ...shared,
    method: 'POST',
    path: '/api/webhooks/filters/test',
    id: 'testFilter',
    summary: 'Test an endpoint filter against the last changes of a collection',
    description: 'Checks at most a hundred changes, and stores nothing.',
    parameters: ['Fields'],
    body: schemaReference('FilterTestDraft'),
    answers: { 200: jsonAnswer('The changes, the newest first.', schemaReference('FilterTest')) },
    handle: async (context) => context.answer(JSON.stringify(await testFilter(context.instance, context))),
  }),
  route({
    ...common,
    path: '/api/webhooks/event-types',
    id: 'listEventTypes',
    summary: 'List event types with a schema and an example of each body',
    parameters: ['EventCollection', 'Fields'],
    answers: { 200: jsonAnswer('The kinds of events, by collection.', schemaReference('EventTypes')) },
    handle: async (context) => {
      const { instance, query } = context;
      // Another node may have changed the definitions.
      await instance.refresh();
      const { eventTypesOf, operationalTypes, withinLimit } = await import('../schemas/event-schemas.ts');
      const name = query.get('collection');
      const selection = name === null ? instance.collections.all() : [instance.collections.get(name)];
      const collections = withinLimit(selection);
      const omitted = selection.length - collections.length;
      const items = eventTypesOf(collections, instance.shownId);
      const ofEndpoints = name === null ? operationalTypes(instance.shownId) : [];
      return context.answer(JSON.stringify({ items: [...items, ...ofEndpoints], omitted }));
    },
  }),
];

const text: Schema = { type: 'string' };
const members: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'The `webhook-id` that receivers get.' },
  kind: { type: 'string', enum: eventKinds },
  collection: { type: 'string', description: 'Its name when it happened.' },
  record: {
    type: 'string',
    description: 'Id of the record, or of the endpoint for an event about an endpoint.',
  },
  revision: { type: 'integer', minimum: 0 },
  created: text,
  expunged: { type: 'string', description: 'When its body was expunged; empty if it was not.' },
  actor: {
    type: 'string',
    description:
      'The author of the change: `superuser`, `key:<id>`, `<collection>/<id>`, `guest`, or `service`. Empty for events about no record, and for an API key that is bound to endpoints.',
  },
  hops: {
    type: 'integer',
    minimum: 0,
    description: 'How many webhooks have led to this one, itself included. 0 for events about no record.',
  },
  changed: { type: 'array', items: text, description: 'The visible fields that an update has changed.' },
  deliveries: { type: 'array', items: schemaReference('Delivery') },
};

export const eventSchemas: Readonly<Record<string, Schema>> = {
  Event: objectSchema(members),
  EventList: cursorListSchema(schemaReference('Event')),
  FilterTestDraft: objectSchema({
    filter: { type: 'string', description: 'As an endpoint has it.' },
    collection: { type: 'string', description: 'Its name or id.' },
  }),
  FilterTest: objectSchema({
    items: {
      type: 'array',
      items: objectSchema({
        id: { type: 'string', description: 'The id of the event.' },
        kind: { type: 'string', enum: recordEventKinds },
        record: text,
        revision: { type: 'integer', minimum: 1 },
        created: text,
        isMet: {
          type: ['boolean', 'null'],
          description: 'Null if the filter compares the previous state, which the log no longer has.',
        },
      }),
    },
    met: { type: 'integer', minimum: 0, description: 'How many of them match the filter.' },
    warnings: { type: 'array', items: text, description: 'Warnings about the filter.' },
  }),
  EventExplanation: objectSchema({
    items: { type: 'array', items: schemaReference('EndpointExplanation') },
    perPage: { type: 'integer', minimum: 1 },
    nextCursor: { type: ['string', 'null'], description: 'Null at the end.' },
  }),
  EndpointExplanation: objectSchema({
    endpoint: { type: 'string', description: 'Its id.' },
    name: text,
    status: { type: 'string', enum: [...endpointStatuses, 'deleted'] },
    isSent: { type: 'boolean', description: 'Whether it has a delivery of the event.' },
    reason: {
      type: 'string',
      enum: reasons,
      description:
        '`paused` and `disabled` are those of a delivery that waits. docs/webhooks-reference.md explains each.',
    },
    message: { type: 'string', description: 'The reason in words.' },
    delivery: { type: 'string', description: 'The id of its delivery; empty where it has none.' },
    deliveryStatus: { type: 'string', enum: [...deliveryStatuses, ''] },
    changed: {
      type: ['array', 'null'],
      items: { type: 'string', enum: changedMembers },
      description:
        'The members of the endpoint that changed after the event: the reason is then that of its current settings. Null if the audit log does not go back so far.',
    },
    isOfNow: {
      type: 'boolean',
      description: 'Whether it depends on other records, which are read in their current state.',
    },
    isWhole: {
      type: 'boolean',
      description: 'False if the event lacks fields that were added or renamed since: they count as empty.',
    },
    comparisons: {
      type: 'array',
      description: 'The comparisons of its filter that were false, at most 20.',
      items: schemaReference('FalseComparison'),
    },
    rule: { oneOf: [schemaReference('DenyingRule'), { type: 'null' }] },
  }),
  DenyingRule: objectSchema({
    collection: { type: 'string', description: 'The name of its collection.' },
    name: { type: 'string', enum: ['viewRule'] },
    text: {
      type: ['string', 'null'],
      description: 'The rule as it is now; null if only superusers may view records, empty if hidden.',
    },
    isHidden: { type: 'boolean', description: 'Whether the caller may not read the rule.' },
  }),
  FalseComparison: objectSchema({
    text: {
      type: 'string',
      description:
        'The text of the comparison. Several with `&&` are each true of one related record, but not of the same one. Empty if hidden.',
    },
    position: { type: 'integer', minimum: 0, description: 'Position in the filter, in UTF-16 units from 0.' },
    isHidden: {
      type: 'boolean',
      description: 'Whether it stands for everything that the caller may not read.',
    },
    isOfNow: { type: 'boolean', description: 'Whether a value is the current one of another record.' },
    sides: {
      type: 'array',
      description: 'The operands of the comparisons, two of each; none if hidden.',
      items: schemaReference('ComparedSide'),
    },
  }),
  EventTypes: objectSchema({
    items: {
      type: 'array',
      items: objectSchema({
        type: { type: 'string', enum: [...recordEventKinds, ...operationalEventKinds, 'ping'] },
        collection: {
          type: 'string',
          description: 'Its name; empty for `ping`, which a test sends, and for events about endpoints.',
        },
        schema: {
          type: 'object',
          additionalProperties: true,
          description: 'A JSON schema (2020-12) of the body.',
        },
        example: { type: 'object', additionalProperties: true, description: 'A body.' },
      }),
    },
    omitted: {
      type: 'integer',
      minimum: 0,
      description:
        'How many collections are omitted, as all of them have too many fields. Request one by `collection`.',
    },
  }),
  EventWithBody: objectSchema({
    ...members,
    body: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'The body that receivers get; null if it was expunged.',
    },
  }),
};
