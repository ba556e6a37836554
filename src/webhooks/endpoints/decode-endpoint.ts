import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import type { CollectionStore } from '../../collections/collection-store.ts';
import { emitsEvents } from '../../collections/collection.ts';
import { type RecordEventKind, recordEventKinds } from '../../events/event.ts';
import type { Decoded } from '../../fields/field-type.ts';
import { fieldError, invalidValue, unknownMembers } from '../../fields/field-error.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import { checkEndpointUrl, decodeHeaders, type Endpoint, endpointLimits } from './endpoint.ts';
import { checkSigningSecret } from '../sending/signature.ts';

/** What a client decides about an endpoint; the service sets the rest. */
export type EndpointSettings = Pick<
  Endpoint,
  'url' | 'description' | 'events' | 'collections' | 'headers' | 'maxInFlight' | 'timeoutMs' | 'schedule'
>;

export interface DecodeEndpointContext {
  readonly collections: CollectionStore;
  readonly policy: NetworkPolicy;
  readonly isForOperator?: boolean | undefined;
  readonly existing?: Endpoint;
  readonly failed: string;
}

type Raw = Readonly<Record<string, unknown>>;

const { descriptionLengthMax, collectionsMax, scheduleLengthMax, scheduleSecondsMax } = endpointLimits;
const { requestsInFlightMax, timeoutMsMin, timeoutMsMax } = endpointLimits;
const maxInFlightDefault = 16;
const timeoutMsDefault = 15_000;

/** Members that a body may have. `status` and `secret` are decoded by functions of their own. */
const names = [
  'url',
  'description',
  'events',
  'collections',
  'headers',
  'maxInFlight',
  'timeoutMs',
  'schedule',
  'status',
  'secret',
] as const satisfies readonly (keyof Endpoint)[];

/** Members that only answers have. They are ignored, so that a body may be sent back as it was shown. */
const shownNames = ['id', 'statusReason', 'created', 'updated', 'warnings'] as const;

/** Members of the API that later versions will bring, each with the only value it can have until then. */
const notYet: Raw = { filter: '', order: 'none', rateLimit: 0 };

/** Reads settings from a body; members that an update leaves out stay. Throws bad_request with the problem of each member. */
export function decodeEndpoint(raw: Raw, context: DecodeEndpointContext): EndpointSettings {
  const errors: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(raw, names, [...shownNames, ...Object.keys(notYet)]),
  };
  const { existing } = context;

  function member<Value>(name: string, fallback: Value, decode: (value: unknown) => Decoded<Value>): Value {
    const value = raw[name];
    if (value === undefined) return fallback;
    const decoded = decode(value);
    if ('error' in decoded) errors[name] = decoded.error;
    return 'error' in decoded ? fallback : decoded.value;
  }

  const settings: EndpointSettings = {
    url: member('url', existing?.url ?? '', (value) => decodeUrl(value, context)),
    description: member('description', existing?.description ?? '', decodeDescription),
    events: member('events', existing?.events ?? recordEventKinds, decodeEvents),
    collections: member('collections', existing?.collections ?? [], (value) =>
      decodeCollections(value, context),
    ),
    headers: member('headers', existing?.headers ?? {}, (value) =>
      decodeHeaders(value, existing?.headers ?? {}),
    ),
    maxInFlight: member(
      'maxInFlight',
      existing?.maxInFlight ?? maxInFlightDefault,
      integerBetween(1, requestsInFlightMax),
    ),
    timeoutMs: member(
      'timeoutMs',
      existing?.timeoutMs ?? timeoutMsDefault,
      integerBetween(timeoutMsMin, timeoutMsMax),
    ),
    schedule: member('schedule', existing?.schedule ?? null, decodeSchedule),
  };
  if (settings.url === '' && errors['url'] === undefined) errors['url'] = fieldError('validation_required');
  refuseNotYet(raw, errors);
  if (Object.keys(errors).length > 0) throw new AppError('bad_request', context.failed, { details: errors });
  return settings;
}

/** Returns the secret given in a body, or undefined when the service is to make one. */
export function decodeSecret(raw: Raw, failed: string): string | undefined {
  const { secret } = raw;
  if (secret === undefined || secret === '') return undefined;
  const problem = typeof secret === 'string' ? checkSigningSecret(secret) : 'The secret must be text.';
  if (problem === null && typeof secret === 'string') return secret;
  throw new AppError('bad_request', failed, { details: { secret: invalidValue(problem ?? '') } });
}

/** Returns the status that a new endpoint begins with. Later only `pause` and `resume` change it. */
export function decodeStatus(raw: Raw, failed: string): Endpoint['status'] {
  const { status = 'active' } = raw;
  if (status === 'active' || status === 'paused') return status;
  const details = { status: invalidValue('Must be active or paused.') };
  throw new AppError('bad_request', failed, { details });
}

/** Refuses an update that gives another status or secret: if they were ignored, its success would be taken for the change. */
export function refuseFixed(raw: Raw, existing: Endpoint, failed: string): void {
  const { status = existing.status, secret = existing.secret } = raw;
  const details = {
    ...(status !== existing.status && { status: invalidValue('Only pause and resume change it.') }),
    ...(secret !== existing.secret && { secret: invalidValue('It cannot be changed yet.') }),
  };
  if (Object.keys(details).length > 0) throw new AppError('bad_request', failed, { details });
}

function decodeUrl(
  value: unknown,
  { policy, isForOperator = false }: DecodeEndpointContext,
): Decoded<string> {
  if (typeof value !== 'string') return { error: invalidValue('Must be text.') };
  if (value === '') return { error: fieldError('validation_required') };
  const check = checkEndpointUrl(value, policy);
  if (check.kind === 'accepted') return { value: check.url };
  const { reason, remedy } = check;
  return { error: invalidValue(isForOperator && remedy !== undefined ? `${reason} ${remedy}` : reason) };
}

function decodeDescription(value: unknown): Decoded<string> {
  if (typeof value === 'string' && value.length <= descriptionLengthMax) return { value };
  return { error: invalidValue(`Must be text of at most ${descriptionLengthMax} characters.`) };
}

function decodeEvents(value: unknown): Decoded<readonly RecordEventKind[]> {
  const wanted: readonly unknown[] = Array.isArray(value) ? value : [];
  const events = recordEventKinds.filter((kind) => wanted.includes(kind));
  if (events.length > 0 && wanted.every((item) => events.some((kind) => kind === item)))
    return { value: events };
  return { error: invalidValue(`Must be one or more of ${recordEventKinds.join(', ')}.`) };
}

/** Names or ids come in, ids are kept: an endpoint follows its collections through every renaming. */
function decodeCollections(value: unknown, context: DecodeEndpointContext): Decoded<readonly string[]> {
  if (!Array.isArray(value) || value.length > collectionsMax) {
    return {
      error: invalidValue(`Must be an array of at most ${collectionsMax} names or ids of collections.`),
    };
  }
  const ids: string[] = [];
  for (const item of value) {
    const collection = typeof item === 'string' ? context.collections.find(item) : undefined;
    const gone = context.existing?.collections.find((id) => id === item);
    // An endpoint keeps the id of its last collection when that is deleted, and a client may send back what it was shown.
    if (collection === undefined && gone !== undefined) {
      ids.push(gone);
      continue;
    }
    if (collection === undefined)
      return { error: invalidValue(`There is no collection ${JSON.stringify(item)}.`) };
    const isKnown = context.existing?.collections.includes(collection.id) === true;
    // An endpoint for it alone would look well and never be told of anything. If the endpoint has it already, it may be sent back.
    if (!emitsEvents(collection) && !isKnown)
      return { error: invalidValue(`Changes of ${collection.name} are told to nobody.`) };
    if (!ids.includes(collection.id)) ids.push(collection.id);
  }
  return { value: ids };
}

function integerBetween(min: number, max: number): (value: unknown) => Decoded<number> {
  return (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? { value }
      : { error: invalidValue(`Must be an integer between ${min} and ${max}.`) };
}

function decodeSchedule(value: unknown): Decoded<readonly number[] | null> {
  if (value === null) return { value };
  const isSchedule =
    Array.isArray(value) &&
    value.length <= scheduleLengthMax &&
    value.every(
      (item) => typeof item === 'number' && Number.isInteger(item) && item >= 1 && item <= scheduleSecondsMax,
    );
  if (isSchedule) return { value };
  return {
    error: invalidValue(
      `Must be null or up to ${scheduleLengthMax} integers of seconds between 1 and ${scheduleSecondsMax}.`,
    ),
  };
}

function refuseNotYet(raw: Raw, errors: Record<string, FieldError | FieldErrors>): void {
  for (const [name, only] of Object.entries(notYet)) {
    if (raw[name] === undefined || raw[name] === null || raw[name] === only) continue;
    errors[name] = invalidValue(`Only ${JSON.stringify(only)} is supported yet.`);
  }
}
