import { BodyError } from './webhook-errors.ts';

/** The change that a webhook tells of. */
export type RecordEventKind = 'record.create' | 'record.update' | 'record.delete';

/** The body of a webhook about a record: after a create or update its new state, after a delete its last one. */
export interface RecordEvent<Name extends string = string, Fields = Readonly<Record<string, unknown>>> {
  readonly event: RecordEventKind;
  /** When the record was written: ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  readonly instance_id: string;
  readonly collection: Name;
  readonly data: Fields & { readonly id: string };
  /**
   * For an endpoint with the payload `previous`: what the fields that an update has changed were before, and all of a record that was
   * deleted. Absent otherwise.
   */
  readonly previous?: Partial<Fields>;
}

/** The body of a test without a record. */
export interface PingEvent {
  readonly event: 'ping';
  readonly timestamp: string;
  readonly instance_id: string;
  readonly collection: '';
  readonly data: Readonly<Record<string, never>>;
}

/** The body of a webhook about no record: endpoints that ask for these are told of other endpoints and of their deliveries. */
interface OperationalEvent<Kind extends string, Name extends string> {
  readonly event: Kind;
  readonly timestamp: string;
  readonly instance_id: string;
  readonly collection: '';
  /** Texts, and nothing of a record: whoever looks at `data` before looking at `event` finds no field there. */
  readonly data: Readonly<Record<Name, string>> & Readonly<Record<string, unknown>>;
}

/** An endpoint has accepted nothing for an hour. */
export type EndpointFailingEvent = OperationalEvent<'endpoint.failing', 'id' | 'url' | 'reason'>;

/** An endpoint was away for too long, and is sent nothing until somebody resumes it. */
export type EndpointDisabledEvent = OperationalEvent<'endpoint.disabled', 'id' | 'url' | 'reason'>;

/** An endpoint recovered. */
export type EndpointRecoveredEvent = OperationalEvent<'endpoint.recovered', 'id' | 'url'>;

/** The client certificate of an endpoint ends soon, or has ended: its SHA-256 and when it ends. */
export type EndpointCertificateExpiringEvent = OperationalEvent<
  'endpoint.certificate_expiring',
  'id' | 'url' | 'fingerprint' | 'expires'
>;

/** A delivery was given up: its id, that of the event which it was to deliver, that of the endpoint, and why the last attempt failed. */
export type DeliveryExhaustedEvent = OperationalEvent<
  'delivery.exhausted',
  'delivery' | 'event' | 'endpoint' | 'cause'
>;

/** An attempt of a delivery failed. Of each endpoint there is at most one in six minutes. */
export type AttemptFailedEvent = OperationalEvent<
  'attempt.failed',
  'delivery' | 'event' | 'endpoint' | 'cause'
>;

/**
 * Asks whether the receiver wants webhooks, before an endpoint of an account gets any. It is answered with the challenge, as the handlers of
 * this package do by themselves.
 */
export type EndpointVerifyEvent = OperationalEvent<'endpoint.verify', 'challenge'>;

/** Records of any collection, for receivers that do not name theirs. */
export type AnyRecords = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * The body of a webhook. `Records` maps the name of each collection to the fields of its records; the name in `collection` then tells
 * which fields `data` has, as `event` does where it is about no record:
 *
 *     type Event = WebhookEvent<{ posts: { title: string }; users: { email: string } }>;
 *
 * `chancery types --for webhooks` writes `Records` from the collections of an instance.
 */
export type WebhookEvent<Records = AnyRecords> =
  | { readonly [Name in keyof Records & string]: RecordEvent<Name, Records[Name]> }[keyof Records & string]
  | PingEvent
  | EndpointVerifyEvent
  | EndpointFailingEvent
  | EndpointDisabledEvent
  | EndpointRecoveredEvent
  | EndpointCertificateExpiringEvent
  | DeliveryExhaustedEvent
  | AttemptFailedEvent;

/** The body of a webhook that would have been too large: of the record it has the id and nothing else. */
export type TruncatedEvent<Records = AnyRecords> = {
  readonly [Name in keyof Records & string]: RecordEvent<Name, Partial<Records[Name]>>;
}[keyof Records & string];

const textMembers = ['event', 'timestamp', 'instance_id', 'collection'] as const;

/** Returns the event in a body whose signature was found genuine. Throws a BodyError when it is none. */
export function readEvent(body: Uint8Array): WebhookEvent {
  return checkEvent(parse(body));
}

/** An event of a batch. */
export interface BatchedEvent {
  /** Its id where the body names it, as that of CloudEvents does. */
  readonly id: string | undefined;
  readonly event: WebhookEvent;
}

/** As {@link readEvent}, for a batch; a body with one event is a batch of one. */
export function readEvents(body: Uint8Array): readonly BatchedEvent[] {
  const value = parse(body);
  if (!Array.isArray(value)) return [{ id: undefined, event: checkEvent(value) }];
  return value.map((item: unknown) => {
    if (!isCloudEvent(item)) return { id: undefined, event: checkEvent(item) };
    return { id: item.id, event: checkEvent(item.data) };
  });
}

function isCloudEvent(item: unknown): item is { readonly id: string; readonly data: unknown } {
  if (typeof item !== 'object' || item === null) return false;
  return 'specversion' in item && 'data' in item && 'id' in item && typeof item.id === 'string';
}

function checkEvent(value: unknown): WebhookEvent {
  if (typeof value !== 'object' || value === null || !('data' in value)) throw notAnEvent('data');
  // The cast only says that members may be looked at; each is checked below.
  const members = value as Readonly<Record<string, unknown>>;
  for (const name of textMembers) if (typeof members[name] !== 'string') throw notAnEvent(name);
  const { data, previous = {} } = members;
  if (typeof data !== 'object' || data === null) throw notAnEvent('data');
  if (isAboutRecord(members) && !('id' in data && typeof data.id === 'string')) throw notAnEvent('data.id');
  if (typeof previous !== 'object' || previous === null) throw notAnEvent('previous');
  // The members that all events have were checked; which fields a record has is up to the collection.
  return value as WebhookEvent;
}

/** Whether an event is a change of a record, or tells of one that is there; any other is about endpoints, or a test. */
export function isAboutRecord({ event }: { readonly event?: unknown }): boolean {
  return typeof event === 'string' && event.startsWith('record.');
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new BodyError('The signature is genuine, but the body is not JSON.');
  }
}

function notAnEvent(member: string): BodyError {
  return new BodyError(`The signature is genuine, but the body has no ${member} as events of Chancery have.`);
}
