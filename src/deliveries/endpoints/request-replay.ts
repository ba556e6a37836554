import { type Caller, operator, reachedEndpoints } from '../../access/caller.ts';
import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { unknownMembers, invalidValue } from '../../fields/field-error.ts';
import { readDate } from '../../base/read-date.ts';
import type { Reader } from '../../storage/database.ts';
import { changeEndpoint, type EndpointSaving } from './change-endpoint.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { parseEventFilter } from '../log/event-filter.ts';
import { notKept } from '../log/feed.ts';
import { readEndpoint } from '../../endpoints/endpoint-store.ts';
import {
  countByStatus,
  insertReplay,
  readReplay,
  readRunning,
  type ReplayScope,
  replayScopes,
} from '../replays/replay-store.ts';
import { markReconcile } from '../reconcile-marks.ts';
import { cancelReplay, countReplay, readRange, type ReplayPlan } from '../replays/replays.ts';

type Body = Readonly<Record<string, unknown>>;

/** A replay as its owner sees it. */
export interface ReplayView {
  readonly id: string;
  readonly endpoint: string;
  readonly scope: ReplayScope;
  /** Of a backfill, the id of the collection, and of a reconcile that of the one where it stands; otherwise ''. */
  readonly collection: string;
  readonly state: string;
  /** Why the service cancelled it, in words; otherwise ''. */
  readonly cause: string;
  readonly rate: number;
  readonly filter: string;
  /** How many deliveries it had at the start; how many of them became due so far, and their states. */
  readonly total: number;
  readonly taken: number;
  readonly delivered: number;
  readonly failed: number;
  readonly pending: number;
  readonly created: string;
  readonly updated: string;
}

const failed = 'Failed to replay.';
const rateMax = 10_000;

/**
 * Begins a replay of an endpoint's past deliveries, or with `dryRun` only counts them. Throws bad_request, not_found, and conflict while
 * another replay of the endpoint is running.
 */
export async function requestReplay(
  saving: EndpointSaving,
  id: string,
  body: Body,
): Promise<ReplayView | { readonly total: number }> {
  const { database } = saving;
  const endpoint = await readEndpoint(saving, id);
  requireFilter(saving.caller ?? operator, body, endpoint);
  const { dryRun, plan } = await decodePlan(saving, body, endpoint);
  const total = await countReplay(database, plan);
  if (dryRun) return { total };
  const now = saving.dueClock.now();
  const replay = await changeEndpoint(saving, id, async (tx, changed) => {
    await refuseSecond(tx, endpoint.number);
    const begun = await insertReplay(tx, { ...plan, endpoint: changed }, { total, now });
    const details = { replay: begun, scope: plan.scope, total };
    await saving.onRequest?.(tx, { action: 'endpoint.replay', target: id, details });
    return begun;
  });
  return replayView(database, replay);
}

/**
 * Throws forbidden for the filter of a key that is bound to endpoints where this one does not get whole records: the count of matches
 * would reveal the fields that are left out.
 */
function requireFilter(caller: Caller, { filter = '' }: Body, endpoint: Endpoint): void {
  if (reachedEndpoints(caller) === null || filter === '' || isSentWhole(endpoint)) return;
  const message = 'The API key may not filter by records that the endpoint is not sent whole.';
  throw new AppError('forbidden', message);
}

/** Whether an endpoint gets all of each record. With an owner, the address of another account may be left out. */
function isSentWhole({ payload, fields, owner }: Endpoint): boolean {
  return payload !== 'thin' && fields.length === 0 && owner === '';
}

/** Throws conflict while another replay or backfill of the endpoint is running. */
export async function refuseSecond(reader: Reader, endpoint: number): Promise<void> {
  const running = await readRunning(reader);
  if (running.some((one) => one.endpoint === endpoint && one.scope !== 'reconcile'))
    throw new AppError(
      'conflict',
      'Another replay or backfill of the endpoint is running: wait for it to finish, or cancel it.',
    );
}

async function decodePlan(
  { database, collections, dueClock }: EndpointSaving,
  body: Body,
  endpoint: ReplayPlan['endpoint'],
): Promise<{ readonly dryRun: boolean; readonly plan: ReplayPlan }> {
  const details: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, ['since', 'until', 'scope', 'filter', 'rate', 'dryRun'], []),
  };
  const { scope = 'failed', filter = '', rate = 0, dryRun = false } = body;
  const replayScope = replayScopes.find((one) => one === scope);
  if (replayScope === undefined)
    details['scope'] = invalidValue(`Must be one of ${replayScopes.join(', ')}.`);
  Object.assign(details, problemsOf({ filter, rate, dryRun }));
  const since = decodeTime(body, 'since', details);
  const trimmed = await readTrimmed(database);
  if (since !== undefined && toTimestamp(since) <= trimmed.time)
    details['since'] = invalidValue(notKept(trimmed.time));
  const until = decodeTime(body, 'until', details);
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
  const text = String(filter);
  const context = { collections, now: dueClock.now(), names: database.names };
  const eventFilter = text === '' ? undefined : parseEventFilter(text, context, endpoint.collections);
  const range = { ...(await readRange(database, { since, until })), isDescending: false };
  const what = { endpoint, scope: replayScope ?? 'failed', filter: text, eventFilter };
  const plan = { ...what, ...range, rate: Number(rate) };
  return { dryRun: dryRun === true, plan };
}

/** Returns the problems of the members that replays and backfills share. */
export function problemsOf({ filter, rate, dryRun }: Body): Readonly<Record<string, FieldError>> {
  const isRate = typeof rate === 'number' && Number.isInteger(rate) && rate >= 0 && rate <= rateMax;
  return {
    ...(!isRate && { rate: invalidValue(`Must be an integer between 0 and ${rateMax}.`) }),
    ...(typeof filter !== 'string' && { filter: invalidValue('Must be text.') }),
    ...(typeof dryRun !== 'boolean' && { dryRun: invalidValue('Must be true or false.') }),
  };
}

/** Reads a point in time; adds its problem to `details`. */
function decodeTime(
  body: Body,
  name: string,
  details: Record<string, FieldError | FieldErrors>,
): number | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === '') return undefined;
  const date = typeof value === 'string' ? readDate(value) : undefined;
  if (date === undefined || date === '') {
    details[name] = invalidValue('Must be a date such as 2026-11-20 09:35:20.114Z.');
    return undefined;
  }
  return fromTimestamp(date);
}

/** Returns a replay with the states of its deliveries. Throws not_found. */
export async function replayView(reader: Reader, id: string): Promise<ReplayView> {
  const replay = await readReplay(reader, id);
  const { endpointId, number, scope, collection, state, cause, rate, filter, total } = replay;
  const { created, updated } = replay;
  const counts = await countByStatus(reader, number);
  const of = (...statuses: readonly string[]): number =>
    statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0);
  return {
    id,
    endpoint: endpointId,
    scope,
    collection,
    state,
    cause,
    rate,
    filter,
    total,
    taken: replay.takenCount,
    delivered: of('delivered'),
    failed: of('exhausted', 'expired', 'cancelled'),
    pending: of('pending'),
    created,
    updated,
  };
}

/** Cancels a replay with its pending deliveries. Throws not_found, and conflict when it is over. */
export async function endReplay(saving: EndpointSaving, id: string): Promise<ReplayView> {
  const replay = await readReplay(saving.database, id);
  if (replay.scope === 'reconcile')
    throw new AppError('conflict', 'A reconcile cannot be cancelled: pause the endpoint to delay it.');
  const now = saving.dueClock.now();
  await changeEndpoint(saving, replay.endpointId, async (tx) => {
    await cancelReplay(tx, replay, now);
    const details = { endpoint: replay.endpointId };
    await saving.onRequest?.(tx, { action: 'replay.cancel', target: id, details });
  });
  return replayView(saving.database, id);
}

/** Has an endpoint with transitions reconciled now. Throws not_found, bad_request. */
export function requestReconcile(saving: EndpointSaving, id: string): Promise<Endpoint> {
  return changeEndpoint(saving, id, async (tx, endpoint) => {
    if (!endpoint.transitions) {
      const details = { transitions: invalidValue('Only an endpoint with transitions is reconciled.') };
      throw new AppError('bad_request', 'Failed to reconcile.', { details });
    }
    await saving.onRequest?.(tx, { action: 'endpoint.reconcile', target: id, details: {} });
    await markReconcile(tx, { endpoints: [endpoint.number], now: saving.dueClock.now(), isAtOnce: true });
    return { ...endpoint, reconciling: true };
  });
}
