import { isDeepStrictEqual } from 'node:util';
import { AppError, type FieldError, type FieldErrors } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { fromTimestamp, type Timestamp } from '../base/timestamp.ts';
import { type Event, isAddressed, isOperational, isTest, recordEventKinds } from '../events/event.ts';
import { fieldError, invalidValue, unknownMembers } from '../fields/field-error.ts';
import { filterProblem, hasConditions, isAboutChange } from './endpoint-conditions.ts';
import { checkSigningSecret } from '../sending/signature.ts';
import { type EndpointSettings, namedOptions, type OptionContext, settingsOf } from './endpoint-options.ts';
import { isSecretHeader, maskedValue } from '../sending/endpoint-request.ts';

/**
 * A paused or disabled endpoint still collects its deliveries, as does an unverified one: that of an account whose receiver has not confirmed
 * that it wants webhooks. Only the service makes one disabled or unverified.
 */
export const endpointStatuses = ['active', 'paused', 'disabled', 'unverified'] as const;

/** A receiver of events: the options that its owner sets, and the members that the service sets. */
export interface Endpoint extends EndpointSettings {
  readonly id: string;
  /** Its id in the log. */
  readonly number: number;
  readonly status: (typeof endpointStatuses)[number];
  /** Why the service paused or disabled it, or has not verified it, in words; empty when its owner paused it. */
  readonly statusReason: string;
  /** When the receiver at its URL confirmed that it wants webhooks; empty where it has not, or was not asked. */
  readonly verified: Timestamp;
  /** Whether it is reconciled, or is to be: what it holds may differ from what matches. In the store's memory it may be outdated. */
  readonly reconciling: boolean;
  readonly secret: string;
  /** The secret before that one, which signs beside it until `previousSecretUntil`; empty when there is none. */
  readonly previousSecret: string;
  /** Empty when there is none. It may have passed. */
  readonly previousSecretUntil: Timestamp;
  readonly created: Timestamp;
  readonly updated: Timestamp;
}

/** Whether an endpoint is sent nothing until it is resumed. */
export function isStopped({ status }: Pick<Endpoint, 'status'>): boolean {
  return status === 'paused' || status === 'disabled';
}

/** Those without owner: every write of a record is matched against each of them. */
export const endpointsMax = 1_000;

/**
 * Whether the endpoint subscribes to the event. Tests and events that are addressed to some endpoints have no subscribers. No endpoint
 * gets events about itself, and an account's none about endpoints.
 */
export function wants(
  endpoint: Pick<EndpointSettings, 'events' | 'collections'> & {
    readonly id?: string;
    readonly owner?: string;
  },
  event: Pick<Event, 'kind' | 'collection'> & { readonly record?: string },
): boolean {
  if (isTest(event.kind) || isAddressed(event.kind)) return false;
  if (!endpoint.events.includes(event.kind)) return false;
  if (isOperational(event.kind)) return event.record !== endpoint.id && (endpoint.owner ?? '') === '';
  return endpoint.collections.length === 0 || endpoint.collections.includes(event.collection);
}

/** The secrets of an endpoint that may be in use. */
export type EndpointSecrets = Pick<Endpoint, 'secret' | 'previousSecret' | 'previousSecretUntil'>;

/** Returns the secrets that sign a request at a time: the current one first, and during the overlap of a rotation the previous one. */
export function signingSecrets(
  { secret, previousSecret, previousSecretUntil }: EndpointSecrets,
  nowMs: number,
): readonly string[] {
  const isOverlap = previousSecretUntil !== '' && nowMs < fromTimestamp(previousSecretUntil);
  return isOverlap ? [secret, previousSecret] : [secret];
}

/** The endpoint in API responses. The secret has its own route. */
export function endpointView(endpoint: Endpoint): Raw {
  const { secret: _, previousSecret: __, number: ___, ...members } = endpoint;
  const view: Record<string, unknown> = members;
  for (const [name, option] of namedOptions) if (option.show) view[name] = option.show(view[name]);
  return view;
}

type Raw = Readonly<Record<string, unknown>>;

/** Members that only responses have. They are ignored, so that a response may be sent back. */
const responseNames = [
  'id',
  'statusReason',
  'verified',
  'reconciling',
  'previousSecretUntil',
  'created',
  'updated',
  'warnings',
] as const;

/** Reads options from a body; those missing in an update stay. Throws bad_request with the problem of each member. */
export function decodeEndpoint(
  raw: Raw,
  { failed, ...context }: EndpointContext & { readonly failed: string },
): EndpointSettings {
  const { settings, problems } = readSettings(raw, context);
  if (Object.keys(problems).length > 0) throw new AppError('bad_request', failed, { details: problems });
  return settings;
}

export type EndpointContext = OptionContext & {
  readonly existing?: Endpoint;
  /** Whether options missing in the body get their defaults, instead of staying as they are. */
  readonly isWhole?: boolean;
};

/**
 * As {@link decodeEndpoint}, with the problems beside the options. An invalid option keeps its previous value, or the default; the URL of
 * a new endpoint is then undefined, whatever its type says.
 */
export function readSettings(
  raw: Raw,
  context: EndpointContext,
): { readonly settings: EndpointSettings; readonly problems: FieldErrors } {
  const names = namedOptions.map(([name]) => name);
  const ofNew = ['status', 'secret'];
  // An update ignores them, like the other members of its answer.
  const isUpdate = context.existing !== undefined && context.isWhole !== true;
  const errors: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(
      raw,
      isUpdate ? names : [...names, ...ofNew],
      isUpdate ? [...responseNames, ...ofNew] : responseNames,
    ),
  };
  const base = context.isWhole === true ? undefined : context.existing;
  const existing: Raw | undefined = base && { ...base };
  const settings = settingsOf(([name, { initial, decode }]) => {
    const before = existing === undefined ? initial : existing[name];
    const decoded = raw[name] === undefined ? undefined : decode(raw[name], context);
    if (decoded !== undefined && 'error' in decoded) errors[name] = decoded.error;
    else if (decoded === undefined && before === undefined) errors[name] = fieldError('validation_required');
    return decoded !== undefined && 'value' in decoded ? decoded.value : before;
  });
  const combined = withOrder(settings, raw, base);
  for (const [name, problem] of problemsTogether(combined, context)) errors[name] ??= problem;
  const ofHeaders = errors['url'] === undefined ? secretsOfOther(combined, raw, context) : undefined;
  if (ofHeaders !== undefined) errors['headers'] ??= ofHeaders;
  if (errors['url'] === undefined && isKeyOfOther(combined, raw, context))
    errors['clientCertificate'] ??= invalidValue(
      'Must be set again, with its key: it was for another server.',
    );
  return { settings: combined, problems: errors };
}

/**
 * Returns the problems of masked headers that would be sent to another server than the one for which they were set: a caller that may
 * change the URL of an endpoint must not read them.
 */
function secretsOfOther(
  { url, headers }: EndpointSettings,
  raw: Raw,
  { existing }: EndpointContext,
): FieldErrors | undefined {
  if (existing === undefined || new URL(url).origin === new URL(existing.url).origin) return undefined;
  const entries = isJsonObject(raw['headers']) ? Object.entries(raw['headers']) : [];
  const isRenewed = (name: string): boolean =>
    entries.some(([written, value]) => written.toLowerCase() === name && value !== maskedValue);
  const secretNames = Object.keys(headers).filter((name) => isSecretHeader(name) && !isRenewed(name));
  const problem = invalidValue('Must be set again: this server has never received it.');
  return secretNames.length === 0
    ? undefined
    : Object.fromEntries(secretNames.map((name) => [name, problem]));
}

/** Whether a client certificate would go to another server than the one for which it was set: that may accept what others reject. */
function isKeyOfOther(
  { url, clientCertificate }: EndpointSettings,
  raw: Raw,
  { existing }: EndpointContext,
): boolean {
  if (existing === undefined || clientCertificate === null || existing.clientCertificate === null)
    return false;
  if (new URL(url).origin === new URL(existing.url).origin) return false;
  const sent = raw['clientCertificate'];
  return !isJsonObject(sent) || sent['key'] === maskedValue;
}

/** Returns the problems of combinations of options, by name. */
function problemsTogether(
  settings: EndpointSettings,
  { collections, names, now, author, existing }: EndpointContext,
): readonly (readonly [name: string, problem: FieldError | FieldErrors])[] {
  const { order, onExhausted, coalesce, payload, fields, owner, oauth2, headers, transitions } = settings;
  // It is missing where it has a problem of its own.
  const isPlain = URL.parse(settings.url)?.protocol === 'http:';
  const isStored = existing?.filter === settings.filter;
  // A filter of another author may name more than the author of this change may.
  const isSame = isStored && isDeepStrictEqual(settings.collections, existing.collections);
  const filter = filterProblem(settings, { collections, names, now, isStored, ...(!isSame && { author }) });
  const refused: readonly (readonly [boolean, string, string])[] = [
    [onExhausted === 'pause' && order !== 'strict', 'onExhausted', 'Requires the order strict.'],
    [fields.length > 0 && payload === 'thin', 'fields', 'Not with the payload thin, which has the id alone.'],
    [coalesce && order === 'strict', 'coalesce', 'Not with the order strict.'],
    [
      oauth2 !== null && headers['authorization'] !== undefined,
      'oauth2',
      'Not with a header authorization: the token is sent in it.',
    ],
    [
      isPlain && settings.clientCertificate !== null,
      'clientCertificate',
      'Requires a URL that begins with https://.',
    ],
    [isPlain && settings.ca !== '', 'ca', 'Requires a URL that begins with https://.'],
    [
      owner !== '' && payload === 'previous',
      'payload',
      'Not with an owner, who may not have seen the record before.',
    ],
    [transitions && !hasConditions(settings), 'transitions', 'Requires a filter or an owner.'],
    [
      transitions && !recordEventKinds.every((kind) => settings.events.includes(kind)),
      'transitions',
      `Requires the events ${recordEventKinds.join(', ')}.`,
    ],
    [
      transitions && filter === undefined && isAboutChange(settings.filter),
      'filter',
      'Not with transitions: `@old` and `:changed` are about a change, and no record matches them by itself.',
    ],
  ];
  return [
    ...refused.flatMap(([isWrong, name, problem]) =>
      isWrong ? [[name, invalidValue(problem)] as const] : [],
    ),
    ...(filter === undefined
      ? []
      : [['filter', filter.details['filter'] ?? invalidValue(filter.message)] as const]),
  ];
}

/** `onExhausted` follows the order, unless the body sets it. */
function withOrder(settings: EndpointSettings, raw: Raw, existing: Endpoint | undefined): EndpointSettings {
  if (raw['onExhausted'] !== undefined || settings.order === (existing?.order ?? 'none')) return settings;
  return { ...settings, onExhausted: settings.order === 'strict' ? 'pause' : 'skip' };
}

/** Returns the secret in a body, or undefined when the service generates one. */
export function decodeSecret(raw: Raw, failed: string): string | undefined {
  const { secret } = raw;
  if (secret === undefined || secret === '') return undefined;
  const problem = typeof secret === 'string' ? checkSigningSecret(secret) : 'The secret must be text.';
  if (problem === null && typeof secret === 'string') return secret;
  throw new AppError('bad_request', failed, { details: { secret: invalidValue(problem ?? '') } });
}

/** Returns the status that a new endpoint begins with. Later only `pause` and `resume` change it. */
export function decodeStatus(raw: Raw, failed: string): 'active' | 'paused' {
  const { status = 'active' } = raw;
  if (status === 'active' || status === 'paused') return status;
  const details = { status: invalidValue('Must be active or paused.') };
  throw new AppError('bad_request', failed, { details });
}

/** Rejects an update with another status or secret: if they were ignored, success would suggest the change. */
export function refuseFixed(raw: Raw, existing: Endpoint, failed: string): void {
  const { status = existing.status, secret = existing.secret } = raw;
  const details = {
    ...(status !== existing.status && { status: invalidValue('Only pause and resume change it.') }),
    ...(secret !== existing.secret && { secret: invalidValue('Only its rotation changes it.') }),
  };
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
}

/** The longest time for which the previous secret or key signs after a rotation. */
export const overlapSecondsMax = 7 * 86_400;
export const overlapSecondsInitial = 86_400;

/** Reads the options of a rotation. Throws bad_request with the problem of each member. */
export function decodeRotation(
  raw: Raw,
  existing: Pick<Endpoint, 'secret'>,
): { secret: string | undefined; overlapMs: number } {
  const failed = 'Failed to rotate the secret.';
  const { overlapSeconds = overlapSecondsInitial } = raw;
  const secret = decodeSecret(raw, failed);
  const isDuration = Number.isInteger(overlapSeconds) && Number(overlapSeconds) >= 0;
  const details = {
    ...unknownMembers(raw, ['secret', 'overlapSeconds'], []),
    ...(!(isDuration && Number(overlapSeconds) <= overlapSecondsMax) && {
      overlapSeconds: invalidValue(`Must be an integer between 0 and ${overlapSecondsMax}.`),
    }),
    ...(secret === existing.secret && { secret: invalidValue('Must be another than the current one.') }),
  };
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
  return { secret, overlapMs: Number(overlapSeconds) * 1_000 };
}
