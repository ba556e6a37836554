import { memberReader, type MemberErrors } from '../auth/key-rows.ts';
import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { decodeUrl } from '../endpoints/endpoint-options.ts';
import { decodeSecret, decodeStatus, type EndpointSecrets } from '../endpoints/endpoint.ts';
import { invalidValue, unknownMembers } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import { operatorEventKinds } from '../instances/operator-events.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import { operatorCursor } from './operator-feed.ts';

/** Where the events of the operator are sent, one after the other in their order. */
export interface OperatorEndpoint extends OperatorEndpointSettings, EndpointSecrets {
  readonly id: string;
  /** The position of the feed up to which events were sent, or are of other kinds. */
  readonly after: number;
  /** How many events after that position were deleted from the feed before they were sent, whatever their kinds. */
  readonly skipped: number;
  /** Failed attempts of the next event. */
  readonly attempts: number;
  /** When its next attempt is due, in milliseconds since 1970. */
  readonly due: number;
  /** The status of the last answer; null where there was none. */
  readonly lastStatus: number | null;
  /** Why the last attempt failed, in words; empty after one that succeeded. */
  readonly lastError: string;
  /** When the first attempt failed since the last one that succeeded; empty where none did. */
  readonly failingSince: Timestamp;
  readonly created: Timestamp;
  readonly updated: Timestamp;
}

export interface OperatorEndpointSettings {
  readonly url: string;
  /** A note for people. */
  readonly description: string;
  /** Kinds, groups of them (`instance.*`), or `*`. */
  readonly events: readonly string[];
  readonly status: 'active' | 'paused';
}

/** What an endpoint may subscribe to. */
export const eventSelections: readonly string[] = [
  '*',
  ...new Set(operatorEventKinds.map((kind) => `${kind.split('.')[0] ?? ''}.*`)),
  ...operatorEventKinds,
];

export const descriptionLengthMax = 1_000;

const settingNames = ['url', 'description', 'events', 'status'] as const;
/** Members that only answers have. They are ignored, so that an answer may be sent back. */
const answerNames = [
  'id',
  'cursor',
  'behind',
  'skipped',
  'attempts',
  'nextAttempt',
  'lastStatus',
  'lastError',
  'failingSince',
  'previousSecretUntil',
  'created',
  'updated',
] as const;

export interface NewOperatorEndpoint {
  readonly settings: OperatorEndpointSettings;
  /** Undefined where the service generates one. */
  readonly secret: string | undefined;
  /** The position that it begins after; undefined for the end of the feed, 0 for its beginning. */
  readonly from: number | undefined;
}

/** Throws bad_request with the problem of each member. */
export function decodeNewEndpoint(body: JsonObject, policy: NetworkPolicy): NewOperatorEndpoint {
  const failed = 'Failed to create endpoint.';
  const errors: MemberErrors = { ...unknownMembers(body, [...settingNames, 'secret', 'from'], answerNames) };
  const member = memberReader(body, errors);
  const initial = { url: '', description: '', events: ['*'], status: 'active' } as const;
  const settings = decodeSettings(body, errors, { policy, existing: initial, isNew: true });
  const from = member('from', decodeFrom, undefined);
  refuse(failed, errors);
  return {
    settings: { ...settings, status: decodeStatus(body, failed) },
    secret: decodeSecret(body, failed),
    from,
  };
}

/** Returns the settings after a change; those missing in the body stay. Throws bad_request with the problem of each member. */
export function decodeEndpointChange(
  body: JsonObject,
  existing: OperatorEndpointSettings,
  policy: NetworkPolicy,
): OperatorEndpointSettings {
  const failed = 'Failed to update endpoint.';
  const errors: MemberErrors = { ...unknownMembers(body, settingNames, answerNames) };
  const settings = decodeSettings(body, errors, { policy, existing, isNew: false });
  refuse(failed, errors);
  return { ...settings, status: decodeStatus({ status: existing.status, ...body }, failed) };
}

function refuse(failed: string, details: MemberErrors): void {
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
}

interface SettingsContext {
  readonly policy: NetworkPolicy;
  readonly existing: OperatorEndpointSettings;
  readonly isNew: boolean;
}

function decodeSettings(
  body: JsonObject,
  errors: MemberErrors,
  { policy, existing, isNew }: SettingsContext,
): OperatorEndpointSettings {
  const member = memberReader(body, errors);
  // Who holds an operator key may know which flag of the server would allow a URL.
  const target = { policy, isForOperator: true, isCatcher: () => false };
  const { url, description, events, status } = existing;
  return {
    url:
      isNew || body['url'] !== undefined ? member('url', (value) => decodeUrl(value ?? '', target), '') : url,
    description:
      body['description'] === undefined ? description : member('description', decodeDescription, ''),
    events: body['events'] === undefined ? events : member('events', decodeSelections, []),
    status,
  };
}

function decodeDescription(value: unknown): DecodedValue<string> {
  if (typeof value === 'string' && value.length <= descriptionLengthMax) return { value };
  return { error: invalidValue(`Must be text of at most ${descriptionLengthMax} characters.`) };
}

function decodeSelections(value: unknown): DecodedValue<readonly string[]> {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const events = eventSelections.filter((one) => items.includes(one));
  if (events.length > 0 && items.every((item) => events.some((one) => one === item)))
    return { value: events };
  return { error: invalidValue(`Must be one or more of ${eventSelections.join(', ')}.`) };
}

function decodeFrom(value: unknown): DecodedValue<number | undefined> {
  if (value === null) return { value: undefined };
  if (typeof value === 'string' && operatorCursor.test(value)) return { value: Number(value) };
  return { error: wrongCursor };
}

export const wrongCursor = invalidValue('Must be a cursor of the feed of events.');

/** The positions of the first and the last event that is kept; both 0 where there was never one. */
export interface FeedBounds {
  readonly oldest: number;
  readonly newest: number;
}

/** Returns how many events after a position were deleted, up to another one. */
export function lostAfter(after: number, oldest: number): number {
  return Math.max(0, oldest - 1 - after);
}

/** The endpoint in answers of the API; only its creation and its rotation show the secret. */
export function operatorEndpointView(endpoint: OperatorEndpoint, { oldest, newest }: FeedBounds): JsonObject {
  const { secret: _, previousSecret: __, after, due, skipped, attempts, ...rest } = endpoint;
  const lost = lostAfter(after, oldest);
  return {
    ...rest,
    cursor: String(after + lost),
    behind: Math.max(0, newest - after - lost),
    skipped: skipped + lost,
    attempts,
    nextAttempt: due > 0 && endpoint.status === 'active' ? toTimestamp(due) : '',
  };
}
