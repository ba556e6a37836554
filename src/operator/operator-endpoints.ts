import { AppError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { JsonObject } from '../base/json.ts';
import { fromTimestamp, toTimestamp } from '../base/timestamp.ts';
import { decodeRotation } from '../endpoints/endpoint.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import { newSigningSecret } from '../sending/signature.ts';
import type { Transaction } from '../storage/database.ts';
import type { OperatorControl } from './operator-control.ts';
import {
  decodeEndpointChange,
  decodeNewEndpoint,
  type NewOperatorEndpoint,
  type OperatorEndpoint,
  operatorEndpointView,
  wrongCursor,
} from './operator-endpoint.ts';

/** Each is looked at twice a second, and has an attempt of its own. */
const endpointsMax = 20;

/** A change of an endpoint. */
export interface OperatorEndpointRequest {
  readonly id: string;
  readonly body: JsonObject;
  readonly actor: Actor;
}

export async function listOperatorEndpoints({ endpoints }: OperatorControl): Promise<readonly JsonObject[]> {
  const bounds = await endpoints.bounds();
  return (await endpoints.all()).map((endpoint) => operatorEndpointView(endpoint, bounds));
}

/** Throws not_found. */
export async function findOperatorEndpoint({ endpoints }: OperatorControl, id: string): Promise<JsonObject> {
  const endpoint = await endpoints.get(id);
  return operatorEndpointView(endpoint, await endpoints.bounds());
}

/** Makes an endpoint, which is sent the events from now on, or those after a cursor. Returns it with its secret. Throws bad_request. */
export async function createOperatorEndpoint(
  operator: OperatorControl,
  body: JsonObject,
  actor: Actor,
): Promise<JsonObject> {
  const { database, endpoints, clock, policy } = operator;
  const { settings, secret = newSigningSecret(), from } = decodeNewEndpoint(body, policy);
  const created = toTimestamp(clock.now());
  return database.write(
    async (tx) => {
      if ((await endpoints.all(tx)).length >= endpointsMax)
        throw new AppError(
          'bad_request',
          `Failed to create endpoint. There can be at most ${endpointsMax} endpoints.`,
        );
      const bounds = await endpoints.bounds(tx);
      const endpoint: OperatorEndpoint = {
        ...settings,
        id: newId(),
        secret,
        previousSecret: '',
        previousSecretUntil: '',
        after: startOf(from, bounds),
        skipped: 0,
        attempts: 0,
        due: 0,
        lastStatus: null,
        lastError: '',
        failingSince: '',
        created,
        updated: created,
      };
      await endpoints.insert(tx, endpoint);
      await note(tx, operator, { action: 'create', actor, endpoint });
      return { ...operatorEndpointView(endpoint, bounds), secret };
    },
    { isExclusive: true },
  );
}

function startOf(
  from: NewOperatorEndpoint['from'],
  { oldest, newest }: { readonly oldest: number; readonly newest: number },
): number {
  if (from === undefined) return newest;
  // The beginning is where the feed begins now.
  if (from === 0) return Math.max(0, oldest - 1);
  if (from <= newest) return from;
  throw new AppError('bad_request', 'Failed to create endpoint.', { details: { from: wrongCursor } });
}

/** Changes an endpoint. One with another URL, or that is resumed, is tried at once. Throws bad_request, not_found. */
export async function updateOperatorEndpoint(
  operator: OperatorControl,
  request: OperatorEndpointRequest,
): Promise<JsonObject> {
  const endpoint = await change(operator, request, {
    action: 'update',
    decide: (before) => {
      const after = { ...before, ...decodeEndpointChange(request.body, before, operator.policy) };
      if (after.url !== before.url) return { ...after, attempts: 0, due: 0, failingSince: '' };
      return after.status === before.status ? after : { ...after, due: 0 };
    },
  });
  return operatorEndpointView(endpoint, await operator.endpoints.bounds());
}

/** Rotates the secret of an endpoint; the previous one signs as well for a while. Throws bad_request, not_found. */
export function rotateOperatorSecret(
  operator: OperatorControl,
  request: OperatorEndpointRequest,
): Promise<OperatorEndpoint> {
  return change(operator, request, {
    action: 'rotate',
    decide: (before) => {
      const { secret = newSigningSecret(), overlapMs } = decodeRotation(request.body, before);
      const previous = {
        previousSecret: before.secret,
        previousSecretUntil: toTimestamp(operator.clock.now() + overlapMs),
      };
      const none = { previousSecret: '', previousSecretUntil: '' };
      return { ...before, secret, ...(overlapMs === 0 ? none : previous), due: 0 };
    },
  });
}

/** Throws not_found. */
export async function deleteOperatorEndpoint(
  operator: OperatorControl,
  { id, actor }: Omit<OperatorEndpointRequest, 'body'>,
): Promise<void> {
  const { database, endpoints } = operator;
  await database.write(async (tx) => {
    const endpoint = await endpoints.getForUpdate(tx, id);
    await endpoints.delete(tx, id);
    await note(tx, operator, { action: 'delete', actor, endpoint });
  });
}

/** What came of a test. */
export interface EndpointTestResult {
  /** Id of the event, `webhook-id` of the request. */
  readonly event: string;
  readonly isDelivered: boolean;
  readonly status: number | null;
  /** Why it failed, in words; empty where it did not. */
  readonly error: string;
  readonly totalMs: number | null;
}

/**
 * Sends the event `ping` to an endpoint once, paused or not. Where it is accepted, an event that waits for its next attempt is sent at once.
 * Throws not_found, and too_many_requests while `testsMax` others are open.
 */
export async function testOperatorEndpoint(
  operator: OperatorControl,
  id: string,
): Promise<EndpointTestResult> {
  const { endpoints, dispatcher } = operator;
  const endpoint = await endpoints.get(id);
  const { deliveryId, isSuccess, status, cause, timings }: AttemptResult = await dispatcher.test(endpoint);
  if (isSuccess) await endpoints.makeDue(id);
  const [event = ''] = deliveryId.split('-');
  return { event, isDelivered: isSuccess, status, error: cause, totalMs: timings.totalMs };
}

interface EndpointChange {
  readonly action: 'update' | 'rotate';
  readonly decide: (before: OperatorEndpoint) => OperatorEndpoint;
}

async function change(
  operator: OperatorControl,
  { id, actor }: OperatorEndpointRequest,
  { action, decide }: EndpointChange,
): Promise<OperatorEndpoint> {
  const { database, endpoints, clock } = operator;
  return database.write(async (tx) => {
    const before = await endpoints.getForUpdate(tx, id);
    const updated = toTimestamp(Math.max(clock.now(), fromTimestamp(before.updated) + 1));
    const endpoint = { ...decide(before), updated };
    await endpoints.update(tx, endpoint);
    await note(tx, operator, { action, actor, endpoint });
    return endpoint;
  });
}

interface EndpointNote {
  readonly action: 'create' | 'update' | 'rotate' | 'delete';
  readonly actor: Actor;
  readonly endpoint: OperatorEndpoint;
}

/** Audits a change. Of the URL the host alone: its path and query may hold secrets. */
function note(
  tx: Transaction,
  { audit }: OperatorControl,
  { action, actor, endpoint }: EndpointNote,
): Promise<void> {
  const { id: target, url } = endpoint;
  const details = { host: URL.parse(url)?.host ?? '' };
  return audit.append(tx, actor, { action: `endpoint.${action}`, target, details });
}
