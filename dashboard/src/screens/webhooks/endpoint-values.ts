import { membersOf } from '../../api/members-of.ts';
import type { EndpointDraft } from '../../api/endpoints.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { formatDelays, parseDelays } from './delays.ts';

export type Order = Endpoint['order'];

/** What the form holds: texts as they are typed. */
export interface EndpointValues {
  readonly url: string;
  readonly description: string;
  readonly events: Endpoint['events'];
  /** Ids; none for all. */
  readonly collections: readonly string[];
  /** Delays with commas; empty for the standard. */
  readonly schedule: string;
  readonly isOnce: boolean;
  /** A line each. */
  readonly headers: string;
  readonly timeoutMs: string;
  readonly maxInFlight: string;
  readonly rateLimit: string;
  readonly maxAgeSeconds: string;
  readonly order: Order;
  readonly coalesce: boolean;
  readonly onExhausted: Endpoint['onExhausted'];
  readonly payload: Endpoint['payload'];
  readonly name: string;
  readonly filter: string;
  /** An account, `<collection>/<id>`; empty for none. */
  readonly owner: string;
  /** Names with commas; empty for all. */
  readonly fields: string;
  readonly cloudEvents: boolean;
  /** An e-mail address, or empty. */
  readonly contact: string;
  readonly hasToken: boolean;
  readonly token: TokenValues;
}

/** Client credentials as they are typed. */
export interface TokenValues {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  readonly audience: string;
}

const noToken: TokenValues = { tokenUrl: '', clientId: '', clientSecret: '', scope: '', audience: '' };

export const kindLabels: Readonly<Record<Endpoint['events'][number], string>> = {
  'record.create': 'Created',
  'record.update': 'Updated',
  'record.delete': 'Deleted',
  'endpoint.failing': 'Endpoint failing',
  'endpoint.disabled': 'Endpoint disabled',
  'endpoint.recovered': 'Endpoint recovered',
  'endpoint.certificate_expiring': 'Certificate expiring',
  'delivery.exhausted': 'Delivery exhausted',
  'attempt.failed': 'Attempt failed',
};

export const eventKinds = membersOf(kindLabels).filter((kind) => kind.startsWith('record.'));

/** Those about other endpoints. */
export const operationalKinds = membersOf(kindLabels).filter((kind) => !kind.startsWith('record.'));

/** The defaults of docs/webhooks-reference.md. */
export const newValues: EndpointValues = {
  url: '',
  description: '',
  events: eventKinds,
  collections: [],
  schedule: '',
  isOnce: false,
  headers: '',
  timeoutMs: '15000',
  maxInFlight: '16',
  rateLimit: '0',
  maxAgeSeconds: '',
  order: 'none',
  coalesce: false,
  onExhausted: 'skip',
  payload: 'full',
  name: '',
  filter: '',
  owner: '',
  fields: '',
  cloudEvents: false,
  contact: '',
  hasToken: false,
  token: noToken,
};

export function valuesOf(endpoint: Endpoint): EndpointValues {
  const { url, description, events, collections, order, coalesce, onExhausted } = endpoint;
  return {
    url,
    description,
    events,
    collections,
    schedule: endpoint.schedule === null ? '' : formatDelays(endpoint.schedule),
    isOnce: endpoint.schedule?.length === 0,
    headers: Object.entries(endpoint.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    timeoutMs: String(endpoint.timeoutMs),
    maxInFlight: String(endpoint.maxInFlight),
    rateLimit: String(endpoint.rateLimit),
    maxAgeSeconds: endpoint.maxAgeSeconds === null ? '' : String(endpoint.maxAgeSeconds),
    order,
    coalesce,
    onExhausted,
    payload: endpoint.payload,
    name: endpoint.name,
    filter: endpoint.filter,
    owner: endpoint.owner,
    fields: endpoint.fields.join(', '),
    cloudEvents: endpoint.cloudEvents,
    contact: endpoint.contact,
    hasToken: endpoint.oauth2 !== null,
    token: { ...noToken, ...endpoint.oauth2 },
  };
}

/** What is sent, and what cannot be sent as it was typed, by the names of the members. */
export interface EncodedValues {
  readonly body: Schemas['EndpointCreate'];
  readonly problems: ReadonlyMap<string, string>;
}

export function encodeValues(values: EndpointValues): EncodedValues {
  const { url, description, events, collections, order, coalesce, onExhausted } = values;
  const problems = new Map<string, string>();
  const whole = (name: 'timeoutMs' | 'maxInFlight' | 'rateLimit' | 'maxAgeSeconds'): number | undefined => {
    const text = values[name].trim();
    if (/^\d+$/.test(text)) return Number(text);
    problems.set(name, 'A whole number is needed.');
    return undefined;
  };
  const delays = parseDelays(values.schedule);
  if (delays === undefined)
    problems.set('schedule', 'Write delays with commas between them: 5 s, 2 min, 1 h.');
  const headers = parseHeaders(values.headers);
  if (headers === undefined) problems.set('headers', 'Write one header a line: Name: value.');
  const timeoutMs = whole('timeoutMs');
  const maxInFlight = whole('maxInFlight');
  const rateLimit = whole('rateLimit');
  const maxAgeSeconds = values.maxAgeSeconds.trim() === '' ? null : whole('maxAgeSeconds');
  const retries = delays === undefined || delays.length === 0 ? null : delays;
  const all = {
    url: url.trim(),
    description,
    events,
    collections,
    schedule: values.isOnce ? [] : retries,
    order,
    coalesce,
    onExhausted: order === 'strict' ? onExhausted : 'skip',
    payload: values.payload,
    fields: values.payload === 'thin' ? [] : namesOf(values.fields),
    name: values.name.trim(),
    filter: values.filter.trim(),
    owner: values.owner.trim(),
    cloudEvents: values.cloudEvents,
    contact: values.contact.trim(),
    oauth2: values.hasToken ? { ...values.token, tokenUrl: values.token.tokenUrl.trim() } : null,
    ...(headers !== undefined && { headers }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxInFlight !== undefined && { maxInFlight }),
    ...(rateLimit !== undefined && { rateLimit }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  } as const;
  return { body: isBoundToEndpoints() ? changeableOf(all) : all, problems };
}

/** Returns what an API key for some endpoints may change: where and how they are told, and not of what. */
function changeableOf(all: EncodedValues['body']): EncodedValues['body'] {
  const changeable = Object.entries(all).filter(([name]) => changeableNames.has(name));
  // The members of `all` with their values; the only one that must be there is among them.
  return Object.fromEntries(changeable) as unknown as EncodedValues['body'];
}

const changeableNames: ReadonlySet<string> = new Set([
  'url',
  'description',
  'schedule',
  'headers',
  'contact',
  'order',
  'coalesce',
  'onExhausted',
  'timeoutMs',
  'maxInFlight',
  'rateLimit',
  'maxAgeSeconds',
]);

/** The same for a question before it is saved. A URL that is not there yet is no mistake. */
export function draftOf({ body }: EncodedValues, id: string | undefined): EndpointDraft {
  const { url, ...rest } = body;
  return { ...rest, ...(url !== '' && { url }), ...(id !== undefined && { id }) };
}

function namesOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function parseHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line) => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line));
  if (pairs.includes(null)) return undefined;
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
}
