import { type Caller, operator } from '../../access/caller.ts';
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { fromTimestamp, type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { invalidValue } from '../../fields/field-error.ts';
import type { Reader, Transaction } from '../../storage/database.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import { followOwner } from '../decision-cursor.ts';
import { catcherOfUrl } from '../../endpoints/catchers.ts';
import { filterProblem } from '../../endpoints/endpoint-conditions.ts';
import type { EndpointSettings, OptionContext } from '../../endpoints/endpoint-options.ts';
import { forgetHeld } from '../../endpoints/held-records.ts';
import { pausedStatus, sendingStatus, verifiedAfter } from '../../endpoints/must-verify.ts';
import { refuseTooMany } from '../../endpoints/refuse-too-many.ts';
import { isAccount } from '../../endpoints/endpoint-owner.ts';
import { ownedBody, requireChangeable } from '../../endpoints/endpoint-reach.ts';
import type { EndpointStore } from '../../endpoints/endpoint-store.ts';
import {
  decodeEndpoint,
  decodeRotation,
  decodeSecret,
  decodeStatus,
  type Endpoint,
  isStopped,
  refuseFixed,
} from '../../endpoints/endpoint.ts';
import { newSigningSecret } from '../../sending/signature.ts';
import type { AlertMails } from '../alert-mails.ts';
import { sendAlert, storeDisabled } from '../endpoint-alerts.ts';
import { warnOfEndpoint } from '../../endpoints/endpoint-warnings.ts';
import { endLane, skippedCause, skipWaiting } from '../skip-waiting.ts';
import { followTransitions } from '../reconcile-marks.ts';
import { openLane } from '../lane-store.ts';
import { renewLane, reopenLane } from './reopen-lane.ts';
import { countReplay, planWaiting, replayWaiting } from '../replays/replays.ts';
import { cancelFailed, deletedCause, releaseAll, sendWaiting } from '../delivery-outcomes.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

type Body = Readonly<Record<string, unknown>>;

/** The parts of an instance that a change of endpoints needs, and a listener for the change. */
export interface EndpointSaving extends Pick<
  WebhookInstance,
  'database' | 'endpoints' | 'clock' | 'dueClock' | 'collections' | 'sealer' | 'settings' | 'quotas'
> {
  /** Who makes the change; absent for the service itself, which may make any. */
  readonly caller?: Caller;
  /** Whether the rejection of a URL names the flag of the server that would allow it. */
  readonly isForOperator?: boolean;
  /** Runs inside the transaction of the change; `before` is undefined for a new endpoint. May await nothing but `tx`. */
  readonly onChange?: (
    tx: Transaction,
    change: { readonly before: Endpoint | undefined; readonly after: Endpoint | undefined },
  ) => Promise<void>;
  /** Runs inside the transaction of a request for an endpoint. May await nothing but `tx`. */
  readonly onRequest?: (tx: Transaction, request: EndpointRequest) => Promise<void>;
}

/** A request for an endpoint, other than a change of it. */
export interface EndpointRequest {
  readonly action:
    'endpoint.replay' | 'endpoint.backfill' | 'endpoint.reconcile' | 'replay.cancel' | 'signing-key.rotate';
  /** Id of the endpoint, of the replay, or of the new key. */
  readonly target: string;
  readonly details: JsonObject;
}

/** Registers an endpoint. Every matching write after this resolves is delivered to it. */
export function createEndpoint(saving: EndpointSaving, body: Body, policy: NetworkPolicy): Promise<Endpoint> {
  const failed = 'Failed to create endpoint.';
  return change(saving, async (tx, endpoints) => {
    const all = await endpoints.all(tx);
    const owned = ownedBody(saving.caller ?? operator, body);
    const settings = decodeEndpoint(owned, { ...contextOf(saving, policy, all), failed });
    refuseTooMany(saving, { before: all, after: [...all, settings] }, failed);
    const secret = decodeSecret(body, failed);
    await requireOwner(tx, saving, settings.owner);
    return insertEndpoint(tx, saving, { settings, status: decodeStatus(body, failed), secret });
  });
}

export interface NewEndpoint {
  readonly settings: EndpointSettings;
  readonly status: 'active' | 'paused';
  /** Undefined where the service generates one. */
  readonly secret: string | undefined;
}

/** Inserts an endpoint whose members were checked. To be called while nothing else is written. */
export async function insertEndpoint(
  tx: Transaction,
  saving: EndpointSaving,
  { settings, status, secret = newSigningSecret() }: NewEndpoint,
): Promise<Endpoint> {
  const { endpoints, clock, dueClock, onChange } = saving;
  const now = toTimestamp(clock.now());
  const values: Omit<Endpoint, 'number'> = {
    ...settings,
    id: newId(),
    ...(status === 'active' ? sendingStatus(saving, { ...settings, verified: '' }) : pausedStatus),
    verified: '',
    reconciling: settings.transitions,
    secret,
    previousSecret: '',
    previousSecretUntil: '',
    created: now,
    updated: now,
  };
  const endpoint = await endpoints.insert(tx, values);
  await openLane(tx, endpoint.number);
  await followOwner(tx, { before: undefined, after: endpoint });
  await followTransitions(tx, dueClock.now(), { before: undefined, after: endpoint });
  await onChange?.(tx, { before: undefined, after: endpoint });
  return endpoint;
}

/** Changes members of an endpoint. Throws bad_request for a different status or secret, which cannot be changed here. */
export async function updateEndpoint(
  saving: EndpointSaving,
  request: { readonly id: string; readonly body: Body },
  policy: NetworkPolicy,
): Promise<Endpoint> {
  const failed = 'Failed to update endpoint.';
  const changed = await change(saving, async (tx, endpoints) => {
    const existing = await endpoints.get(tx, request.id);
    requireChangeable(saving.caller ?? operator, request.body, existing);
    refuseFixed(request.body, existing, failed);
    const others = (await endpoints.all(tx)).filter(({ id }) => id !== existing.id);
    const context = contextOf(saving, policy, others);
    const settings = decodeEndpoint(request.body, { ...context, existing, failed });
    if (settings.owner !== existing.owner) {
      await requireOwner(tx, saving, settings.owner);
      refuseTooMany(saving, { before: [...others, existing], after: [...others, settings] }, failed);
    }
    return changeSettings(tx, saving, { before: existing, settings });
  });
  if (changed.order !== 'record') await releaseAll(saving, changed.number);
  return changed;
}

/** Stores validated options of an endpoint. To be called while nothing else is written. */
export async function changeSettings(
  tx: Transaction,
  saving: EndpointSaving,
  { before, settings }: { readonly before: Endpoint; readonly settings: EndpointSettings },
): Promise<Endpoint> {
  const { endpoints, clock, dueClock, onChange } = saving;
  const changed = { ...before, ...settings, updated: timeOfChange(before, clock) };
  const after = verifiedAfter(saving, { before, after: changed });
  await onChange?.(tx, { before, after });
  if (before.owner !== after.owner) await followOwner(tx, { before, after });
  await endpoints.update(tx, after);
  const isMarked = await followTransitions(tx, dueClock.now(), { before, after });
  await reopenLane(tx, { dueClock }, { before, after });
  return { ...after, reconciling: after.transitions && (isMarked || after.reconciling) };
}

/**
 * Rotates the secret of an endpoint, to the one in the body or a new one. The previous one signs as well for a while, by default a day, so
 * that receivers can switch at any time in between. Another rotation ends that time for the secret before. Throws
 * bad_request, not_found.
 */
export function rotateSecret(
  saving: EndpointSaving,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<Endpoint> {
  return change(saving, async (tx, endpoints) => {
    const existing = await endpoints.get(tx, id);
    const { secret = newSigningSecret(), overlapMs } = decodeRotation(body, existing);
    const after: Endpoint = {
      ...existing,
      secret,
      previousSecret: overlapMs === 0 ? '' : existing.secret,
      previousSecretUntil: overlapMs === 0 ? '' : toTimestamp(saving.clock.now() + overlapMs),
      updated: timeOfChange(existing, saving.clock),
    };
    await saving.onChange?.(tx, { before: existing, after });
    await endpoints.updateSecrets(tx, after);
    await reopenLane(tx, saving, { before: existing, after });
    return after;
  });
}

/** Returns the context in which the options of an endpoint are decoded. */
export function contextOf(
  { collections, isForOperator, sealer, database, clock, caller: author = operator }: EndpointSaving,
  policy: NetworkPolicy,
  others: readonly Endpoint[],
): Omit<OptionContext, 'existing'> {
  const otherNames = new Set(others.flatMap(({ name }) => (name === '' ? [] : [name])));
  const isCatcher = (url: string): boolean => catcherOfUrl(sealer, url) !== undefined;
  const own = { collections, names: database.names, now: clock.now(), isCatcher, author };
  return { ...own, policy, isForOperator, otherNames };
}

/**
 * Pauses or resumes an endpoint. A paused one collects its deliveries and gets none; once active again it gets all of them, or only those
 * that follow. Throws conflict when none of its collections exists any more: active, it would look healthy and never get an event.
 */
export async function setEndpointStatus(
  saving: EndpointSaving,
  id: string,
  to: 'paused' | Backlog,
): Promise<Endpoint> {
  const status = to === 'paused' ? 'paused' : 'active';
  if (to === 'skip') await cancelOfPaused(saving, id);
  const total = to === 'newest-first' ? await countOfPaused(saving, id) : 0;
  const changed = await change(saving, async (tx, endpoints) => {
    const existing = await endpoints.get(tx, id);
    if (status === 'active') refuseBroken(saving, existing);
    const updated = timeOfChange(existing, saving.clock);
    const after: Endpoint = {
      ...existing,
      ...(status === 'active' ? sendingStatus(saving, existing) : pausedStatus),
      updated,
    };
    await saving.onChange?.(tx, { before: existing, after });
    if (to === 'skip') await skipWaiting(tx, existing.number, updated);
    if (to === 'newest-first') await replayWaiting(tx, after, { total, now: saving.dueClock.now() });
    await endpoints.update(tx, after);
    if (after.status === 'active') await renewLane(tx, saving, existing.number);
    return after;
  });
  if (changed.status === 'active') await sendWaiting(saving, changed.number);
  return changed;
}

/** The parts of an instance that a change of a lane needs. The endpoint counts as changed, so that the node that sends to it reads its lane again. */
export type LaneSaving = Pick<WebhookInstance, 'database' | 'endpoints' | 'clock' | 'dueClock'>;

/** Runs a transaction that notifies the node that owns the endpoint, as the endpoint counts as changed. Throws not_found. */
export function changeEndpoint<Result>(
  saving: LaneSaving,
  id: string,
  work: (tx: Transaction, endpoint: Endpoint) => Promise<Result>,
): Promise<Result> {
  return change(saving, async (tx, endpoints) => {
    const existing = await endpoints.get(tx, id);
    const after = { ...existing, updated: timeOfChange(existing, saving.clock) };
    await endpoints.update(tx, after);
    return work(tx, after);
  });
}

/**
 * What happens to the backlog when an endpoint is resumed: `drain` sends it, `skip` cancels it, `newest-first` sends new
 * events at once, and the backlog by a replay from the newest.
 */
export const backlogs = ['drain', 'newest-first', 'skip'] as const;

export type Backlog = (typeof backlogs)[number];

/** Cancels failed deliveries first, while none is sent. The change itself then skips the others. */
async function cancelOfPaused(saving: EndpointSaving, id: string): Promise<void> {
  const existing = await saving.endpoints.get(saving.database, id);
  refuseBroken(saving, existing);
  await cancelFailed(saving, { endpoint: existing.number, cause: skippedCause });
}

/** Counts the backlog before the change, for which all writes wait: it may have a million deliveries. */
async function countOfPaused({ database, endpoints }: EndpointSaving, id: string): Promise<number> {
  const plan = await planWaiting(database, await endpoints.get(database, id));
  return plan === undefined ? 0 : countReplay(database, plan);
}

/** Rejects the resumption of an endpoint whose collections were deleted, or whose filter no longer fits them. */
function refuseBroken(
  { collections, database, clock }: Pick<WebhookInstance, 'collections' | 'database' | 'clock'>,
  endpoint: Endpoint,
): void {
  const ids = endpoint.collections;
  if (ids.length > 0 && ids.every((id) => collections.find(id) === undefined))
    throw new AppError('conflict', 'None of its collections exists any more. Set others first.');
  const problem = filterProblem(endpoint, {
    collections,
    names: database.names,
    now: clock.now(),
    isStored: true,
  });
  if (problem !== undefined)
    throw new AppError('conflict', `Its filter cannot be used: ${problem.message} Set another first.`);
}

/** Throws bad_request where the owner of an endpoint is no account. */
export async function requireOwner(
  reader: Reader,
  instance: Pick<WebhookInstance, 'collections'>,
  owner: string,
): Promise<void> {
  if (owner === '' || (await isAccount(reader, instance, owner))) return;
  const details = { owner: invalidValue('There is no such account.') };
  throw new AppError('bad_request', 'Failed to save endpoint.', { details });
}

/** Deletes an endpoint. Its backlog is cancelled at once, however long it is; failed deliveries in the writes that follow. */
export async function deleteEndpoint(saving: EndpointSaving, id: string): Promise<void> {
  const deleted = await change(saving, async (tx, endpoints) => {
    const before = await endpoints.get(tx, id);
    await removeEndpoint(tx, saving, before);
    return before.number;
  });
  await cancelFailed(saving, { endpoint: deleted, cause: deletedCause });
  while ((await saving.database.write((tx) => forgetHeld(tx, deleted))) > 0);
}

/** Deletes an endpoint, except its failed deliveries. To be called while nothing else is written. */
export async function removeEndpoint(
  tx: Transaction,
  { endpoints, clock, onChange }: EndpointSaving,
  endpoint: Endpoint,
): Promise<void> {
  await onChange?.(tx, { before: endpoint, after: undefined });
  const now = toTimestamp(clock.now());
  await followOwner(tx, { before: endpoint, after: undefined });
  await endLane(tx, endpoint.number, now);
  await endpoints.delete(tx, endpoint.id, now);
}

/**
 * Pauses or disables an endpoint on behalf of the service, with a reason that its owner can read. `endpoint` is its state when
 * the reason arose: if its owner has changed the URL since, nothing happens. Warns the operator. Returns whether this call stopped it.
 */
export async function stopEndpoint(
  instance: WebhookInstance,
  endpoint: Endpoint,
  {
    status,
    event,
    reason,
    mails,
  }: {
    readonly status: 'paused' | 'disabled';
    readonly event: string;
    readonly reason: string;
    readonly mails: AlertMails | undefined;
  },
): Promise<boolean> {
  let hasStopped = false;
  await change(instance, async (tx, endpoints) => {
    const existing = await endpoints.find(tx, endpoint.id);
    if (existing === undefined || isStopped(existing) || existing.url !== endpoint.url) return;
    const updated = timeOfChange(existing, instance.clock);
    const after = { ...existing, status, statusReason: reason, updated };
    await endpoints.update(tx, after);
    const isDisabled = status === 'disabled';
    const mail = isDisabled ? await storeDisabled(tx, instance, { endpoint: after, reason }) : undefined;
    tx.afterCommit(() => {
      hasStopped = true;
      warnOfEndpoint(instance, existing, { kind: status, event, cause: reason });
      const alert = { kind: 'disabled', endpoint: after, event, cause: reason } as const;
      if (isDisabled) sendAlert(instance, { alert, mail }, mails);
    });
  });
  return hasStopped;
}

/** Returns a time later than the last change, whatever the nodes' clocks say: `InstanceLanes` recognises a change by it. */
export function timeOfChange({ updated }: Endpoint, clock: Clock): Timestamp {
  return toTimestamp(Math.max(clock.now(), fromTimestamp(updated) + 1));
}

/** Runs a change alone in its commit: every other transaction relies on the endpoints in the store's memory. */
function change<Result>(
  { database, endpoints }: Pick<WebhookInstance, 'database' | 'endpoints'>,
  work: (tx: Transaction, endpoints: EndpointStore) => Promise<Result>,
): Promise<Result> {
  return database.write((tx) => work(tx, endpoints), { isExclusive: true });
}
