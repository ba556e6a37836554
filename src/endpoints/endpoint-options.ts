import type { Caller } from '../access/caller.ts';
import type { CollectionStore } from '../collections/collection-store.ts';
import { emitsEvents } from '../collections/collection.ts';
import { isEmail } from '../fields/email-field.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import { fieldError, invalidValue } from '../fields/field-error.ts';
import { filterLimits } from '../filters/filter-error.ts';
import { anyText, type JsonSchema } from '../fields/value-schema.ts';
import type { NetworkPolicy } from '../network/address-guard.ts';
import type { Names } from '../storage/database.ts';
import {
  type ClientCredentials,
  credentialsSchema,
  decodeCredentials,
  maskCredentials,
} from '../sending/client-credentials.ts';
import {
  authoritiesSchema,
  type ClientCertificate,
  clientCertificateSchema,
  decodeAuthorities,
  decodeClientCertificate,
  maskClientCertificate,
} from '../sending/client-certificate.ts';
import {
  checkEndpointUrl,
  decodeHeaders,
  type EndpointUrlCheck,
  headersMax,
  maskHeaders,
} from '../sending/endpoint-request.ts';
import { type BatchOption, batchOption } from './batch-option.ts';
import { decodeOwner } from './endpoint-owner.ts';
import { type EndpointEventKind, listOptions } from './list-options.ts';

/**
 * An option of an endpoint: its whole definition, in one place. The members of a body, the type Endpoint, the
 * statements of the table, API responses and their description follow from {@link endpointOptions}. The column of `maxInFlight` is
 * `max_in_flight`; it needs a migration.
 */
export interface EndpointOption<Value> {
  /** Its default; absent for a required option. */
  readonly initial?: Value;
  /** Decodes the value of a client. */
  readonly decode: (value: unknown, context: OptionContext) => DecodedValue<Value>;
  /** How its column stores the value: as it is, as JSON text (NULL for null), or as sealed JSON. */
  readonly form: 'text' | 'number' | 'json' | 'sealed';
  readonly schema: JsonSchema;
  /** Returns the value in API responses, where that differs. */
  show?(value: Value): unknown;
}

export interface OptionContext {
  readonly collections: CollectionStore;
  readonly names: Names;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly policy: NetworkPolicy;
  /** The author of the options, who decides what a filter may name. */
  readonly author: Caller;
  readonly isForOperator?: boolean | undefined;
  /** Whether a URL is that of a catcher of the instance. */
  readonly isCatcher: (url: string) => boolean;
  /** The names of the other endpoints of the instance. */
  readonly otherNames: ReadonlySet<string>;
  /** The endpoint that is changed; absent for a new one. */
  readonly existing?: {
    readonly collections: readonly string[];
    readonly filter: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly oauth2: ClientCredentials | null;
    readonly clientCertificate: ClientCertificate | null;
  };
}

const collectionsMax = 200;
const maxAgeSecondsMax = 366 * 86_400;

const orders = ['none', 'record', 'strict'] as const;

/** A name is part of paths, commands and files: it needs no quoting. */
const endpointName = /^[A-Za-z0-9._-]{1,100}$/;

export const endpointOptions = {
  /** Identifies it in files and commands; empty, or unique. */
  name: option<string>({
    initial: '',
    decode: decodeName,
    form: 'text',
    schema: {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{0,100}$',
      description: 'A unique name for commands and files; empty for none.',
    },
  }),
  url: option<string>({
    decode: decodeUrl,
    form: 'text',
    schema: { type: 'string', minLength: 1, description: 'Public HTTPS, unless the operator allows more.' },
  }),
  description: textOption(1_000, 'Notes for people.'),
  events: option<readonly EndpointEventKind[]>(listOptions.events),
  /** Ids of collections, so that renames follow; empty means all of them. */
  collections: option<readonly string[]>({
    initial: [],
    decode: decodeCollections,
    form: 'json',
    schema: {
      type: 'array',
      items: anyText,
      maxItems: collectionsMax,
      description: 'Ids; names are accepted and stored as ids. Empty means all.',
    },
  }),
  /** The condition on changes; empty means every one. Checked together with the collections. */
  filter: textOption(
    filterLimits.bytesMax,
    'A condition on the state after a change, in the grammar of lists. It may also name the previous state (`@old.status`) and whether a field changed (`status:changed`).',
  ),
  /** Extra headers sent with every request; names in lower case. */
  headers: option<Readonly<Record<string, string>>>({
    initial: {},
    decode: (value, { existing }) => decodeHeaders(value, existing?.headers ?? {}),
    form: 'sealed',
    schema: {
      type: 'object',
      maxProperties: headersMax,
      additionalProperties: anyText,
      description: 'Sent with every request. Values of secret-looking names are shown as `********`.',
    },
    show: maskHeaders,
  }),
  /** The credentials for a token, or null for none. */
  oauth2: option<ClientCredentials | null>({
    initial: null,
    decode: (value, context) =>
      decodeCredentials(value, {
        existing: context.existing?.oauth2 ?? null,
        // A catcher issues no tokens.
        decodeUrl: (url) => decodeUrl(url, { ...context, isCatcher: () => false }),
      }),
    form: 'sealed',
    schema: credentialsSchema,
    show: maskCredentials,
  }),
  /** What the receiver is shown in the TLS handshake, or null. */
  clientCertificate: option<ClientCertificate | null>({
    initial: null,
    decode: (value, { existing, now }) =>
      decodeClientCertificate(value, { existing: existing?.clientCertificate ?? null, now }),
    form: 'sealed',
    schema: clientCertificateSchema,
    show: maskClientCertificate,
  }),
  /** Authorities that are trusted in place of the system's; empty for those. */
  ca: option<string>({ initial: '', decode: decodeAuthorities, form: 'text', schema: authoritiesSchema }),
  /** Requests that may be open at once. */
  maxInFlight: integerOption({ initial: 16, min: 1, max: 64, description: 'Requests open at once.' }),
  /** Time for one attempt, from the first DNS packet to the last byte of the response. */
  timeoutMs: integerOption({ initial: 15_000, min: 1_000, max: 30_000 }),
  /** Seconds between attempts, or null for the standard schedule. */
  schedule: option<readonly number[] | null>(listOptions.schedule),
  /** The content of `data`: the record, or its id alone. */
  payload: choiceOption(['full', 'thin', 'previous'], {
    initial: 'full',
    description:
      'full: `data` is the record, or those of its fields that `fields` names; thin: its id alone; previous: as full, and a sixth member `previous` has the values before an update of the fields that it has changed, or all before a deletion.',
  }),
  /** Names of the fields in `data` besides the id; empty means all. */
  fields: option<readonly string[]>(listOptions.fields),
  /** The account that owns it, `<id of its collection>/<id>`; empty for superusers. */
  owner: option<string>({
    initial: '',
    decode: decodeOwner,
    form: 'text',
    schema: {
      type: 'string',
      description:
        'An account, `<collection>/<id>`: the endpoint receives only records that it may view. Shown with the id of the collection.',
    },
  }),
  /** Whether the headers of CloudEvents are sent as well. */
  cloudEvents: flagOption('The headers of CloudEvents (binary mode) are sent as well.'),
  /** Whether requests are also signed with the key of the instance. */
  ed25519: flagOption(
    'Requests also have a signature `v1a` (Ed25519) by the key of the instance, whose public key is at `/.well-known/jwks.json`.',
  ),
  /** Whether it is told when records come to match its conditions, or match them no more. */
  transitions: flagOption(
    'Keeps a copy exact: a record that comes to match the filter, or that the owner may view from now on, is sent as `record.create`, and one that does so no more as `record.delete`. Requires a filter or an owner, and all three events of records.',
  ),
  /** The order of deliveries. */
  order: choiceOption(orders, {
    initial: 'none',
    description:
      'none: begun in the order of the changes; record: one at a time for each record, in their order; strict: one at a time.',
  }),
  /** How several events are sent in one request, or null. */
  batch: option<BatchOption | null>(batchOption),
  /** Whether only the last pending change of a record is sent. */
  coalesce: flagOption('Only the last pending change of a record is sent.'),
  /** What happens to the endpoint when a delivery is exhausted. */
  onExhausted: choiceOption(['skip', 'pause'], {
    initial: 'skip',
    description:
      'What happens after an exhausted delivery. `pause` requires the order strict, where it is the default.',
  }),
  /** The maximum age of a delivery that is attempted, or null. */
  maxAgeSeconds: option<number | null>({
    initial: null,
    decode: (value) =>
      value === null || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxAgeSecondsMax)
        ? { value: value === null ? null : Number(value) }
        : { error: invalidValue(`Must be null or an integer between 1 and ${maxAgeSecondsMax}.`) },
    form: 'json',
    schema: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: maxAgeSecondsMax,
      description: 'The maximum age of a delivery that is attempted; null for no limit.',
    },
  }),
  rateLimit: integerOption({
    initial: 0,
    min: 0,
    max: 10_000,
    description: 'Attempts per second; 0 for no limit.',
  }),
  /** An e-mail address for alerts, or empty. */
  contact: option<string>({
    initial: '',
    decode: (value) =>
      value === '' || (typeof value === 'string' && isEmail(value))
        ? { value }
        : { error: fieldError('validation_is_email') },
    form: 'text',
    schema: {
      type: 'string',
      maxLength: 255,
      description:
        'An e-mail address for alerts: the endpoint keeps failing, is disabled, or recovers. Empty for none.',
    },
  }),
} as const;

/** The value of each option. */
export type EndpointSettings = {
  readonly [Name in keyof typeof endpointOptions]: ValueOf<(typeof endpointOptions)[Name]>;
};

type ValueOf<Option> = Option extends EndpointOption<infer Value> ? Value : never;

export type NamedOption = readonly [name: string, option: EndpointOption<unknown>];

export const namedOptions: readonly NamedOption[] = Object.entries(endpointOptions);

/** Builds the settings from a value of each option. */
export function settingsOf(valueOf: (named: NamedOption) => unknown): EndpointSettings {
  // The cast holds if `valueOf` returns only decoded, initial or stored values of the option.
  return Object.fromEntries(namedOptions.map((named) => [named[0], valueOf(named)])) as EndpointSettings;
}

/** Returns the name of an option's column. */
export function optionColumn(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function option<Value>(declaration: EndpointOption<Value>): EndpointOption<Value> {
  return declaration;
}

function choiceOption<Choice extends string>(
  choices: readonly Choice[],
  { initial, description }: { readonly initial: Choice; readonly description: string },
): EndpointOption<Choice> {
  const problem = invalidValue(`Must be one of ${choices.join(', ')}.`);
  return {
    initial,
    decode: (value) => {
      const match = choices.find((choice) => choice === value);
      return match === undefined ? { error: problem } : { value: match };
    },
    form: 'text',
    schema: { type: 'string', enum: choices, description },
  };
}

function flagOption(description: string): EndpointOption<boolean> {
  return {
    initial: false,
    decode: (value) =>
      typeof value === 'boolean' ? { value } : { error: invalidValue('Must be true or false.') },
    form: 'json',
    schema: { type: 'boolean', description },
  };
}

function textOption(lengthMax: number, description: string): EndpointOption<string> {
  const problem = invalidValue(`Must be text of at most ${lengthMax} characters.`);
  return {
    initial: '',
    decode: (value) =>
      typeof value === 'string' && value.length <= lengthMax ? { value } : { error: problem },
    form: 'text',
    schema: { type: 'string', maxLength: lengthMax, description },
  };
}

interface IntegerOption {
  readonly initial: number;
  readonly min: number;
  readonly max: number;
  readonly description?: string;
}

function integerOption({ initial, min, max, ...rest }: IntegerOption): EndpointOption<number> {
  const problem = invalidValue(`Must be an integer between ${min} and ${max}.`);
  return {
    initial,
    decode: (value) =>
      typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
        ? { value }
        : { error: problem },
    form: 'number',
    schema: { type: 'integer', minimum: min, maximum: max, ...rest },
  };
}

const nameTaken = { code: 'validation_not_unique', message: 'Another endpoint has this name.' };

function decodeName(value: unknown, { otherNames }: OptionContext): DecodedValue<string> {
  if (value === '') return { value };
  if (typeof value !== 'string' || !endpointName.test(value))
    return { error: invalidValue('Must be 1 to 100 letters, digits, dots, hyphens or underscores.') };
  return otherNames.has(value) ? { error: nameTaken } : { value };
}

/** What decides where an endpoint may be. */
type TargetContext = Pick<OptionContext, 'policy' | 'isForOperator' | 'isCatcher'>;

export function decodeUrl(value: unknown, context: TargetContext): DecodedValue<string> {
  if (typeof value !== 'string') return { error: invalidValue('Must be text.') };
  if (value === '') return { error: fieldError('validation_required') };
  const check = checkTarget(value, context);
  if (check.kind === 'accepted') return { value: check.url };
  const { reason, remedy } = check;
  return { error: invalidValue(remedy === undefined ? reason : `${reason} ${remedy}`) };
}

/** Checks a URL as that of an endpoint of this instance. Only the operator learns which flag would allow it. */
export function checkTarget(
  url: string,
  { policy, isForOperator = false, isCatcher }: TargetContext,
): EndpointUrlCheck {
  if (isCatcher(url)) return { kind: 'accepted', url };
  const check = checkEndpointUrl(url, policy);
  if (check.kind === 'accepted' || isForOperator) return check;
  return { kind: 'refused', reason: check.reason };
}

/** Names or ids are accepted, ids are stored: an endpoint follows its collections through every renaming. */
function decodeCollections(value: unknown, context: OptionContext): DecodedValue<readonly string[]> {
  if (!Array.isArray(value) || value.length > collectionsMax) {
    return {
      error: invalidValue(`Must be an array of at most ${collectionsMax} names or ids of collections.`),
    };
  }
  const ids: string[] = [];
  for (const item of value) {
    const collection = typeof item === 'string' ? context.collections.find(item) : undefined;
    const deletedId = context.existing?.collections.find((id) => id === item);
    // An endpoint keeps the id of its last collection when that is deleted, and a client may send a response back.
    if (collection === undefined && deletedId !== undefined) {
      ids.push(deletedId);
      continue;
    }
    if (collection === undefined)
      return { error: invalidValue(`There is no collection ${JSON.stringify(item)}.`) };
    const isCurrent = context.existing?.collections.includes(collection.id) === true;
    // An endpoint for it alone would look healthy and never get an event. If the endpoint has it already, it may be sent back.
    if (!emitsEvents(collection) && !isCurrent)
      return { error: invalidValue(`Changes of ${collection.name} emit no events.`) };
    if (!ids.includes(collection.id)) ids.push(collection.id);
  }
  return { value: ids };
}
