import { choicesOf, explainedChoicesOf, membersOf } from '../../api/members-of.ts';
import type { Endpoint } from '../../api/events.ts';
import type { Schemas } from '../../api/schema.ts';
import { kindNames } from '../../parts/delivery-words.ts';
import type { Field } from '../../parts/form/field.ts';
import type { Form } from '../../parts/form/use-form.ts';

type Create = Schemas['EndpointCreate'];
export type OptionName = keyof Schemas['EndpointUpdate'];
export type Place = 'main' | 'who' | 'content' | 'receiver' | 'pace';
type WithoutPath<One> = One extends Field ? Omit<One, 'path'> : never;
type Option = WithoutPath<Field> & { readonly place: Place };
export type PlacedField = Field & { readonly place: Place };

/** What a new endpoint has, as docs/webhooks-reference.md says. */
interface Beginning<Name extends keyof Create> {
  readonly initial: Required<Create>[Name];
}

/** What an endpoint can be sent of all that the log has, by what people read instead. */
const { backfill: _b, enter: _e, leave: _l, ping: _p, test: _t, ...kindLabels } = kindNames;

const recordKinds = membersOf(kindLabels).filter((kind) => kind.startsWith('record.'));
const kindChoices = choicesOf(kindLabels);
const isStrict = (form: Form): boolean => form.value('order') === 'strict';
const pem = '.pem,.crt,.cer,.key,.txt';
const certificateText = '-----BEGIN CERTIFICATE-----';

/**
 * Every option of an endpoint, in the order of the form: one that the API gains is a type error here until it has a row.
 * docs/webhooks-reference.md says what each means.
 */
export const options: { readonly [Name in OptionName]: Option & Beginning<Name> } = {
  url: {
    place: 'main',
    initial: '',
    kind: 'text',
    type: 'url',
    isMono: true,
    label: 'URL',
    isRequired: true,
    placeholder: 'https://example.com/webhooks',
    help: 'Where each webhook is sent, by POST.',
  },
  description: {
    place: 'main',
    initial: '',
    kind: 'text',
    lengthMax: 1_000,
    label: 'Description',
    placeholder: 'Purpose and owner',
  },
  events: {
    place: 'main',
    initial: recordKinds,
    kind: 'set',
    label: 'Events',
    choices: kindChoices.filter(({ value }) => value.startsWith('record.')),
  },
  collections: {
    place: 'main',
    initial: [],
    kind: 'set',
    label: 'Collections',
    all: 'All',
    // Those of the instance are added where the form is made.
    choices: [],
    help: (form) => (isEmpty(form.value('collections')) ? 'Includes collections made later.' : ''),
  },
  filter: {
    place: 'main',
    initial: '',
    // What completes it is added where the form is made.
    kind: 'code',
    language: 'filter',
    label: 'Filter',
    placeholder: "state = 'paid' && state:changed = true",
    help: 'Send only changes where the updated record matches. Leave empty to send all. @old.state is the previous value; state:changed = true means it changed.',
  },
  schedule: {
    place: 'main',
    initial: null,
    kind: 'delays',
    label: 'Retries after',
    placeholder: 'Default: 15 attempts over 3 days',
  },
  name: {
    place: 'who',
    initial: '',
    kind: 'text',
    isMono: true,
    lengthMax: 100,
    label: 'Name',
    placeholder: 'shop',
    help: 'Used by the command line and “As code”.',
  },
  owner: {
    place: 'who',
    initial: '',
    kind: 'text',
    isMono: true,
    label: 'Owner',
    placeholder: 'users/r4nd0m1d0000001',
    help: 'An account. The endpoint then receives only what the account may view.',
  },
  contact: {
    place: 'who',
    initial: '',
    kind: 'text',
    type: 'email',
    label: 'Contact',
    placeholder: 'on-call@example.com',
    help: 'Emailed when the endpoint has failed for an hour, is disabled, or recovers.',
  },
  payload: {
    place: 'content',
    initial: 'full',
    kind: 'choice',
    label: 'Payload',
    choices: explainedChoicesOf<Endpoint['payload']>({
      full: { label: 'Full', help: 'The record.' },
      thin: { label: 'Thin', help: 'Only its id; the receiver fetches the record.' },
      previous: { label: 'Previous', help: 'The record, and its values before the change.' },
    }),
    also: (payload) => (payload === 'thin' ? { fields: '' } : {}),
  },
  fields: {
    place: 'content',
    initial: [],
    kind: 'list',
    isInline: true,
    label: 'Fields',
    placeholder: 'id, title, state',
    help: 'Comma-separated. Empty: all.',
    when: (form) => form.value('payload') !== 'thin',
  },
  transitions: {
    place: 'content',
    initial: false,
    kind: 'switch',
    label: 'Keep an exact copy',
    help: 'A record that starts to match is sent as created, and one that no longer matches as deleted. Requires a filter or an owner.',
  },
  cloudEvents: {
    place: 'content',
    initial: false,
    kind: 'switch',
    label: 'Add CloudEvents headers',
  },
  headers: {
    place: 'receiver',
    initial: {},
    kind: 'pairs',
    sign: ':',
    isSecret: true,
    label: 'Headers',
    placeholder: 'X-Shop: berlin',
    help: 'One per line, sent with each request. Values that look secret are shown as ********; leave that to keep them.',
  },
  oauth2: {
    place: 'receiver',
    initial: null,
    kind: 'optional',
    label: 'Authorize requests with an OAuth 2.0 token',
    blank: { tokenUrl: '', clientId: '', clientSecret: '', scope: '', audience: '' },
    fields: [
      tokenField('tokenUrl', 'Token URL', 'https://login.example.com/oauth2/token'),
      tokenField('clientId', 'Client ID'),
      { path: 'oauth2.clientSecret', kind: 'secret', label: 'Client secret' },
      tokenField('scope', 'Scope', 'optional'),
      tokenField('audience', 'Audience', 'optional'),
    ],
  },
  clientCertificate: {
    place: 'receiver',
    initial: null,
    kind: 'optional',
    label: 'Present a client certificate',
    help: 'For receivers that require mutual TLS.',
    blank: { certificate: '', key: '' },
    fields: [
      {
        path: 'clientCertificate.certificate',
        kind: 'text',
        isMono: true,
        rows: 4,
        accept: pem,
        label: 'Certificate',
        placeholder: certificateText,
        help: 'PEM: the certificate, then its intermediates.',
      },
      {
        path: 'clientCertificate.key',
        kind: 'secret',
        rows: 3,
        accept: pem,
        label: 'Private key',
        placeholder: '-----BEGIN PRIVATE KEY-----',
        help: 'PEM, not encrypted. It is never shown again.',
      },
    ],
  },
  ca: {
    place: 'receiver',
    initial: '',
    kind: 'text',
    isMono: true,
    rows: 3,
    accept: pem,
    label: 'Certificate authority',
    placeholder: certificateText,
    help: 'PEM. Replaces the system’s authorities for this receiver. Empty: the system’s.',
  },
  ed25519: {
    place: 'receiver',
    initial: false,
    kind: 'switch',
    label: 'Add Ed25519 signatures',
    help: 'Verified with the public key at /.well-known/jwks.json, without the secret.',
  },
  order: {
    place: 'pace',
    initial: 'none',
    kind: 'choice',
    label: 'Order',
    choices: explainedChoicesOf<Endpoint['order']>({
      none: { label: 'None', help: 'In parallel, in any order.' },
      record: { label: 'By record', help: 'Changes of the same record in order.' },
      strict: { label: 'Strict', help: 'One at a time, everything in order.' },
    }),
    also: (order) => ({
      onExhausted: order === 'strict' ? 'pause' : 'skip',
      ...(order === 'strict' && { coalesce: false }),
    }),
  },
  onExhausted: {
    place: 'pace',
    initial: 'skip',
    kind: 'choice',
    label: 'When a delivery is exhausted',
    choices: choicesOf<Endpoint['onExhausted']>({ pause: 'Pause the endpoint', skip: 'Skip it' }),
    when: isStrict,
  },
  coalesce: {
    place: 'pace',
    initial: false,
    kind: 'switch',
    label: 'Send only the latest waiting change of a record',
    when: (form) => !isStrict(form),
  },
  batch: {
    place: 'pace',
    initial: null,
    kind: 'optional',
    label: 'Send several events in one request',
    help: 'The body is then an array of events.',
    blank: { max: 100, waitMs: 2_000 },
    fields: [
      { path: 'batch.max', kind: 'number', label: 'Events in a request', help: '1 to 100' },
      { path: 'batch.waitMs', kind: 'duration', unit: 'ms', label: 'Maximum wait', help: 'At most 1 min' },
    ],
  },
  timeoutMs: {
    place: 'pace',
    initial: 15_000,
    kind: 'duration',
    unit: 'ms',
    label: 'Timeout',
    help: '1 to 30 s',
  },
  maxInFlight: {
    place: 'pace',
    initial: 16,
    kind: 'number',
    label: 'Concurrent requests',
    help: '1 to 64',
  },
  rateLimit: {
    place: 'pace',
    initial: 0,
    kind: 'number',
    label: 'Requests per second',
    help: '0 for no limit',
  },
  maxAgeSeconds: {
    place: 'pace',
    initial: null,
    kind: 'duration',
    isNullable: true,
    label: 'Expires after',
    help: 'Empty for never',
  },
};

/** What can be decided only when an endpoint is made. */
export const beginnings: {
  readonly [Name in Exclude<keyof Create, OptionName>]: WithoutPath<Field> & Beginning<Name>;
} = {
  secret: {
    initial: '',
    kind: 'secret',
    label: 'Signing secret',
    help: 'Empty for a random one. Otherwise 16 to 256 characters, as whsec_ and base64.',
  },
  status: {
    initial: 'active',
    kind: 'choice',
    label: 'Begins',
    choices: choicesOf<NonNullable<Create['status']>>({ active: 'Active', paused: 'Paused' }),
  },
};

export const operational: Field = {
  path: 'events',
  id: 'operational',
  kind: 'set',
  label: 'Events of other endpoints',
  choices: kindChoices.filter(({ value }) => !value.startsWith('record.')),
  help: 'For alerts, regardless of collections. An endpoint gets no events about itself.',
};

function tokenField(name: string, label: string, placeholder = ''): Field {
  return { path: `oauth2.${name}`, kind: 'text', isMono: true, label, placeholder };
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
