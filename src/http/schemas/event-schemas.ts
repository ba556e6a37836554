import { type Collection, emitsEvents } from '../../collections/collection.ts';
import {
  type EventKind,
  type OperationalEventKind,
  operationalEventKinds,
  recordEventKinds,
} from '../../events/event.ts';
import { fieldType } from '../../fields/field-types.ts';
import { hasColumn } from '../../fields/field.ts';
import type { KeyedCollection } from './key-collections.ts';
import { type PathItem, type Schema, schemaReference, type Tag } from './schema.ts';

/** A kind of event of a collection, and what an endpoint that asks for all of it is sent. */
export interface EventType {
  readonly type: EventKind;
  /** Name of the collection; empty for `ping`, which is sent by a test, and for events about endpoints. */
  readonly collection: string;
  /** A JSON schema (2020-12) of the body. */
  readonly schema: Schema;
  /** A body. */
  readonly example: unknown;
}

/** Limit for all described collections together: making a document blocks the event loop. */
const describedFieldsMax = 5_000;

/** The first of these collections, as many as may be described together. */
export function withinLimit(collections: readonly Collection[]): readonly Collection[] {
  let count = 0;
  return collections.filter(({ fields }) => (count += fields.length) <= describedFieldsMax);
}

/** Returns the kinds of events that these collections cause, and the test event. `instanceId` goes into the examples. */
export function eventTypesOf(collections: readonly Collection[], instanceId: string): readonly EventType[] {
  const ofRecords = collections.filter(emitsEvents).flatMap((collection) => {
    const data = dataOf(collection);
    return recordEventKinds.map((kind) => eventType(kind, collection.name, { data, instanceId }));
  });
  const none = { schema: { type: 'object', properties: {} }, example: {} };
  return [...ofRecords, eventType('ping', '', { data: none, instanceId })];
}

/** Returns the kinds of events about endpoints. */
export function operationalTypes(instanceId: string): readonly EventType[] {
  return operationalEventKinds.map((kind) => {
    const members = aboutEndpoints[kind];
    const data = { schema: operationalData(kind), example: members };
    return eventType(kind, '', { data, instanceId });
  });
}

const endpointExample = { id: 'e4a1c0m8p2q7r9t', url: 'https://example.com/hooks' };

const deliveryExample = {
  delivery: '0mwos9t825cml2muc1oz-e4a1c0m8p2q7r9t',
  event: '0mwos9t825cml2muc1oz',
  endpoint: endpointExample.id,
  cause: 'The receiver answered with status 500.',
};

/** What `data` has of each: texts like these. */
const aboutEndpoints: Readonly<Record<OperationalEventKind, Readonly<Record<string, string>>>> = {
  'endpoint.failing': { ...endpointExample, reason: 'The receiver answered with status 500.' },
  'endpoint.disabled': { ...endpointExample, reason: 'The receiver was down for five days.' },
  'endpoint.recovered': endpointExample,
  'endpoint.certificate_expiring': {
    ...endpointExample,
    fingerprint: '5C:0E:7A:44:…',
    expires: '2026-12-20 09:35:20.114Z',
  },
  'delivery.exhausted': deliveryExample,
  'attempt.failed': deliveryExample,
};

const summaries: Readonly<Record<OperationalEventKind, string>> = {
  'endpoint.failing': 'An endpoint has accepted nothing for an hour',
  'endpoint.disabled': 'An endpoint was disabled after failing for too long',
  'endpoint.certificate_expiring':
    'The client certificate of an endpoint expires within 30, 7 or 1 days, or has expired',
  'endpoint.recovered': 'An endpoint recovered after an hour of failures or being disabled',
  'delivery.exhausted': 'The first delivery of the day to an endpoint was exhausted',
  'attempt.failed': 'An attempt to send to an endpoint failed: at most one in six minutes of each endpoint',
};

function operationalData(kind: OperationalEventKind): Schema {
  const names = Object.keys(aboutEndpoints[kind]);
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  return { type: 'object', required: names, properties };
}

function eventType(
  type: EventKind,
  collection: string,
  { data, instanceId }: { readonly data: ReturnType<typeof dataOf>; readonly instanceId: string },
): EventType {
  const example = {
    event: type,
    timestamp: '2026-11-20T09:35:20.114Z',
    instance_id: instanceId,
    collection,
    data: data.example,
  };
  return { type, collection, schema: bodySchema([type], collection, data.schema), example };
}

/** The name of the schema of a collection's events. */
function partName({ key }: KeyedCollection): string {
  return `${key}.Event`;
}

/** Returns the schemas of the bodies of these collections' events, by name. */
export function eventSchemasOf(keyed: readonly KeyedCollection[]): Readonly<Record<string, Schema>> {
  return Object.fromEntries(
    keyed
      .filter(({ collection }) => emitsEvents(collection))
      .map((each) => [
        partName(each),
        bodySchema(recordEventKinds, each.collection.name, dataOf(each.collection).schema),
      ]),
  );
}

/** Describes what is sent to endpoints, as OpenAPI 3.1 does: an operation of the receiver's for each collection, and for events about endpoints. */
export function webhooksOf(keyed: readonly KeyedCollection[]): Readonly<Record<string, PathItem>> {
  const ofCollections = keyed.filter(({ collection }) => emitsEvents(collection));
  const ofRecords = ofCollections.map((each) => {
    const { name } = each.collection;
    const summary = `A record of ${name} was created, updated or deleted`;
    const schema = schemaReference(partName(each));
    return [name, webhookOf(`webhook_${each.key}`, { summary, schema })] as const;
  });
  // No collection has a name with a dot.
  const ofEndpoints = operationalEventKinds.map((kind) => {
    const schema = bodySchema([kind], '', operationalData(kind));
    return [kind, webhookOf(`webhook_${kind}`, { summary: summaries[kind], schema })] as const;
  });
  return Object.fromEntries([...ofRecords, ...ofEndpoints]);
}

/** The tag of what is sent to endpoints. */
export const receivedTag: Tag = { name: 'received', description: 'What endpoints are sent.' };

function webhookOf(
  operationId: string,
  { summary, schema }: { readonly summary: string; readonly schema: Schema },
): PathItem {
  return {
    post: {
      operationId,
      // Not that of the routes: a generator of clients writes a file for each tag, and these over those of the routes.
      tags: [receivedTag.name],
      summary,
      description:
        'Signed by the secret of the endpoint. An endpoint may limit `data`, and have headers of its own.',
      // The receiver's own matter.
      security: [],
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: { '2XX': { description: 'Accepted. Anything else is retried.' } },
    },
  };
}

function bodySchema(kinds: readonly string[], collection: string, data: Schema): Schema {
  const [only] = kinds;
  return {
    type: 'object',
    required: ['event', 'timestamp', 'instance_id', 'collection', 'data'],
    properties: {
      event: kinds.length === 1 ? { type: 'string', const: only } : { type: 'string', enum: kinds },
      timestamp: { type: 'string', format: 'date-time', description: 'When the record was written.' },
      instance_id: { type: 'string' },
      collection: { type: 'string', const: collection },
      data,
    },
  };
}

/** The record's own fields, without those that are hidden or secret, and a value of each. */
function dataOf({ fields }: Collection): { readonly schema: Schema; readonly example: unknown } {
  const members = fields.flatMap((field) => {
    const { output: answered, example } = fieldType(field).schema(field.options, (id) => id);
    if (answered === undefined || !hasColumn(field) || field.hidden) return [];
    const value = field.name === 'id' ? 'r4nd0m1d0000001' : (example ?? simplest(answered));
    return [[field.name, answered, value] as const];
  });
  const properties = Object.fromEntries(members.map(([name, schema]) => [name, schema]));
  return {
    // Of a body that would be too large, the id alone is sent.
    schema: { type: 'object', required: ['id'], properties },
    example: Object.fromEntries(members.map(([name, , value]) => [name, value])),
  };
}

/** Returns a value of the type that a schema names. */
function simplest({ type }: Schema): unknown {
  if (type === 'boolean') return true;
  return type === 'number' ? 7 : 'text';
}
