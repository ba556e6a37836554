import { operator, reaches } from '../../access/caller.ts';
import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import { type Collection, emitsEvents } from '../../collections/collection.ts';
import { fieldError, invalidValue, unknownMembers } from '../../fields/field-error.ts';
import { sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import type { BackfillRecords } from '../../endpoints/backfill-records.ts';
import { countRecords } from '../replays/backfills.ts';
import { changeEndpoint, type EndpointSaving } from './change-endpoint.ts';
import { readEndpoint } from '../../endpoints/endpoint-store.ts';
import { type Endpoint, wants } from '../../endpoints/endpoint.ts';
import { insertReplay } from '../replays/replay-store.ts';
import { problemsOf, refuseSecond, type ReplayView, replayView } from './request-replay.ts';

type Body = Readonly<Record<string, unknown>>;

const failed = 'Failed to backfill.';

/**
 * Begins a backfill of an endpoint with the records of a collection, or with `dryRun` only counts them. Throws bad_request, not_found, and
 * conflict while another replay or backfill of the endpoint is running.
 */
export async function requestBackfill(
  saving: EndpointSaving & { readonly records: BackfillRecords },
  id: string,
  body: Body,
): Promise<ReplayView | { readonly total: number }> {
  const { database, records, collections } = saving;
  const endpoint = await readEndpoint(saving, id);
  const { name, filter, rate, dryRun } = decodeBackfill(body);
  const { caller = operator } = saving;
  const match = await records.find(name);
  // Records that an API key cannot reach are neither counted for it nor sent to an endpoint of its choice.
  const reached = match !== undefined && reaches(caller, match) ? match : undefined;
  const collection = requireSubscribed(reached, endpoint, name);
  const now = saving.dueClock.now();
  const what = { collection: collection.id, filter, now, author: caller };
  const total = await countRecords(records, what);
  if (dryRun) return { total };
  const backfill = await changeEndpoint(saving, id, async (tx, changed) => {
    await refuseSecond(tx, changed.number);
    // Both may have changed since the check above.
    requireSubscribed(collections.find(collection.id), changed, name);
    const range = { first: 1, last: await records.lastPosition(tx, collection.id), isDescending: false };
    const logEnd = await readLogEnd(tx);
    const replay = {
      scope: 'backfill',
      endpoint: changed,
      collection: collection.id,
      logEnd,
      filter,
      rate,
    } as const;
    const begun = await insertReplay(tx, { ...replay, ...range }, { total, now });
    const details = { replay: begun, collection: collection.name, total };
    await saving.onRequest?.(tx, { action: 'endpoint.backfill', target: id, details });
    return begun;
  });
  return replayView(database, backfill);
}

interface BackfillRequest {
  readonly name: string;
  readonly filter: string;
  readonly rate: number;
  readonly dryRun: boolean;
}

function decodeBackfill(body: Body): BackfillRequest {
  const { collection: name, filter = '', rate = 0, dryRun = false } = body;
  const details: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, ['collection', 'filter', 'rate', 'dryRun'], []),
    ...problemsOf({ filter, rate, dryRun }),
  };
  if (name === undefined || name === '') details['collection'] = fieldError('validation_required');
  else if (typeof name !== 'string')
    details['collection'] = invalidValue('Must be the name of a collection.');
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
  return { name: String(name), filter: String(filter), rate: Number(rate), dryRun: dryRun === true };
}

/** Throws bad_request unless the endpoint subscribes to new records of the collection. */
function requireSubscribed(collection: Collection | undefined, endpoint: Endpoint, name: string): Collection {
  const problem = problemOf(collection, endpoint, name);
  if (collection !== undefined && problem === undefined) return collection;
  throw new AppError('bad_request', failed, { details: { collection: invalidValue(problem ?? '') } });
}

function problemOf(collection: Collection | undefined, endpoint: Endpoint, name: string): string | undefined {
  if (collection === undefined) return `There is no collection ${JSON.stringify(name)}.`;
  if (!emitsEvents(collection)) return `Records of ${collection.name} have no events.`;
  if (!endpoint.events.includes('record.create')) return 'The endpoint does not subscribe to record.create.';
  if (wants(endpoint, { kind: 'record.create', collection: collection.id })) return undefined;
  return `The endpoint does not subscribe to ${collection.name}.`;
}

async function readLogEnd(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
  );
  return Number(row?.[0]);
}
