import { type Caller, hasScope, reachedEndpoints, requireReach } from '../access/caller.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import { emitsEvents } from '../collections/collection.ts';
import { recordEventKinds } from '../events/event.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import { withCurrentDefinitions } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { meetConditions } from '../endpoints/endpoint-conditions.ts';
import { readEndpoint } from '../endpoints/endpoint-store.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { RecordTest } from '../dispatch/test-endpoint.ts';
import { findRecord } from './find-record.ts';
import { actorOf } from './note-change.ts';
import { recordToEventJson, type StoredRecord, valueOf } from './record.ts';

type Body = Readonly<Record<string, unknown>>;

const failed = 'Failed to test endpoint.';

/**
 * Reads the content of a test event: a record as it is now, or undefined for `ping`. Throws not_found for the endpoint, bad_request, and
 * forbidden for an API key that may not read the record: its holder may have pointed the endpoint at themselves.
 */
export async function readTestEvent(
  instance: Instance,
  { caller }: Pick<RuleInput, 'caller'>,
  { endpoint, body }: { readonly endpoint: string; readonly body: Body },
): Promise<RecordTest | undefined> {
  requirePing(caller, body);
  const target = await readEndpoint(instance, endpoint);
  const test = decodeTest(body, target.collections);
  if (test === undefined) return undefined;
  if (!hasScope(caller, 'records:read'))
    throw new AppError('forbidden', 'The API key needs the scope records:read.');
  return withCurrentDefinitions(async () => {
    // Another node may have made the collection.
    if (instance.collections.find(test.collection) === undefined) await instance.refresh();
    const collection = instance.collections.find(test.collection);
    if (collection === undefined)
      throw refusal({
        collection: invalidValue(`There is no collection ${JSON.stringify(test.collection)}.`),
      });
    requireReach(caller, collection);
    if (!emitsEvents(collection))
      throw refusal({ collection: invalidValue(`Changes of ${collection.name} emit no events.`) });
    const record = await findRecord(instance.database, collection, test.recordId);
    if (record === undefined) throw refusal({ recordId: invalidValue('There is no such record.') });
    if (!(await mayOwnerView(instance, target, record)))
      throw refusal({ recordId: invalidValue('The owner of the endpoint may not view this record.') });
    return {
      bodyKind: test.kind,
      collectionName: collection.name,
      record: String(valueOf(record, 'id')),
      revision: record.revision,
      dataJson: recordToEventJson(record),
      context: { actor: actorOf(caller, instance.collections), hops: 1 },
    };
  });
}

/**
 * Throws forbidden where an API key that is bound to endpoints would test with more than the test event: its endpoints may not
 * receive the record of its choice.
 */
function requirePing(
  caller: Caller,
  { event = 'ping', recordId = '' }: Readonly<Record<string, unknown>>,
): void {
  if (reachedEndpoints(caller) === null || (event === 'ping' && recordId === '')) return;
  throw new AppError('forbidden', 'The API key is bound to endpoints and may test them with `ping` alone.');
}

/** Whether the owner of an endpoint, if it has one, may receive events of the record: a test must not get around that. */
async function mayOwnerView(
  { database, collections, clock }: Instance,
  endpoint: Endpoint,
  { collection, values }: StoredRecord,
): Promise<boolean> {
  if (endpoint.owner === '') return true;
  const change = { collection, before: values, after: values };
  const unfiltered = [{ ...endpoint, filter: '' }];
  const { matches } = await meetConditions(database, unfiltered, { collections, now: clock.now(), change });
  return matches.length > 0;
}

interface TestRequest {
  readonly kind: RecordTest['bodyKind'];
  readonly recordId: string;
  /** Its id or its name. */
  readonly collection: string;
}

function decodeTest(body: Body, collections: readonly string[]): TestRequest | undefined {
  const problems: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, ['event', 'recordId', 'collection']),
  };
  const [recordId, event, named] = ['recordId', 'event', 'collection'].map((name) => {
    const value = body[name] ?? '';
    if (typeof value === 'string') return value;
    problems[name] = invalidValue('Must be text.');
    return '';
  });
  const kind = recordEventKinds.find((one) => one === (event || 'record.update'));
  const collection = named || (collections.length === 1 ? collections[0] : '') || '';
  if (recordId) {
    if (kind === undefined)
      problems['event'] ??= invalidValue(`Must be one of ${recordEventKinds.join(', ')}.`);
    if (collection === '') problems['collection'] ??= fieldError('validation_required');
  } else if (event !== '' && event !== 'ping')
    problems['event'] ??= invalidValue('Must be ping, unless recordId names a record.');
  else if (named) problems['recordId'] ??= fieldError('validation_required');
  if (Object.keys(problems).length > 0) throw refusal(problems);
  return recordId && kind ? { kind, recordId, collection } : undefined;
}

function refusal(details: FieldErrors): AppError {
  return new AppError('bad_request', failed, { details });
}
