import type { Timestamp } from '../base/timestamp.ts';
import { type Field, fieldToJson } from '../fields/field.ts';
import type { ProviderOptions } from '../providers/provider.ts';
import { type IndexDefinition, indexToText } from './index-definition.ts';

/**
 * A collection: a named set of records with the same fields, kept in a table of its own.
 *
 *   definition (JSON of a client) ── decode-collection ──► Collection ── tables ──► its table
 *                                                              │
 *                                                     collection-store: all of an instance's, in memory
 *
 * A Collection is never changed: an update makes a new object, and everything compiled for the old one is dropped with it.
 */
export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly type: CollectionType;
  /** Whether the service itself made it: then it cannot be renamed or deleted. */
  readonly system: boolean;
  readonly rules: Rules;
  /** In the order in which they are shown: `id` first. */
  readonly fields: readonly Field[];
  readonly indexes: readonly IndexDefinition[];
  /** Undefined unless it is an auth collection. */
  readonly auth: AuthOptions | undefined;
  /** Of a view: what its rows are. */
  readonly view?: ViewOptions;
  readonly created: Timestamp;
  readonly updated: Timestamp;
}

export type CollectionType = 'base' | 'auth' | 'view';

/** A view has no table of its own: its rows are those of a query, and its fields follow from that. */
export interface ViewOptions {
  /** As its author wrote it. */
  readonly query: string;
  /** Whether its `id` is a text of a collection as it is: then rows are found by it. */
  readonly hasPlainId: boolean;
  /** The ids of the collections that it reads. */
  readonly reads: readonly string[];
  /** Where the files are whose names a field holds, by the name of the field. */
  readonly files: Readonly<Record<string, FileSource>>;
}

export interface FileSource {
  /** The id of the collection. */
  readonly collection: string;
  readonly field: string;
}

/** Who may do what: null = superusers only, '' = everyone, otherwise a filter. */
export interface Rules {
  readonly listRule: string | null;
  readonly viewRule: string | null;
  readonly createRule: string | null;
  readonly updateRule: string | null;
  readonly deleteRule: string | null;
}

export const ruleNames = ['listRule', 'viewRule', 'createRule', 'updateRule', 'deleteRule'] as const;

export const lockedRules: Rules = {
  listRule: null,
  viewRule: null,
  createRule: null,
  updateRule: null,
  deleteRule: null,
};

/** Whether changes of its records make events. Collections whose names begin with `_` are internal to the service. */
export function emitsEvents(collection: Collection): boolean {
  return collection.type !== 'view' && !collection.name.startsWith('_');
}

/** The definition as the collections API shows it. Members of `fields` come in alphabetical order, as clients know them. */
export function collectionToJson(collection: Collection): string {
  const rules = ruleNames.map((name) => `"${name}":${JSON.stringify(collection.rules[name])}`).join(',');
  const fields = collection.fields.map(fieldToJson).join(',');
  const indexes = JSON.stringify(collection.indexes.map((index) => indexToText(index, collection.name)));
  const tail = JSON.stringify({
    created: collection.created,
    updated: collection.updated,
    system: collection.system,
    ...collection.auth,
    ...(collection.view !== undefined && { viewQuery: collection.view.query }),
  });
  const head = `"id":${JSON.stringify(collection.id)},${rules},"name":${JSON.stringify(collection.name)}`;
  return `{${head},"type":"${collection.type}","fields":[${fields}],"indexes":${indexes},${tail.slice(1)}`;
}

/** What an auth collection defines beyond other collections (http-api section 12), in the order in which it is shown. Times are seconds. */
export interface AuthOptions extends Record<TokenKind, TokenOptions> {
  /** Which accounts may sign in: null for none, '' for all, otherwise a filter on the account. */
  readonly authRule: string | null;
  /** Who may change members that are reserved for the owner of an account; null for superusers only. */
  readonly manageRule: string | null;
  readonly authAlert: { readonly enabled: boolean; readonly emailTemplate: EmailTemplate };
  readonly oauth2: {
    /** Their secrets are kept apart from the definition. */
    readonly providers: readonly ProviderOptions[];
    readonly mappedFields: Readonly<Record<MappedField, string>>;
    readonly enabled: boolean;
  };
  readonly passwordAuth: { readonly enabled: boolean; readonly identityFields: readonly string[] };
  readonly mfa: { readonly enabled: boolean; readonly duration: number; readonly rule: string };
  readonly otp: {
    readonly enabled: boolean;
    readonly duration: number;
    readonly length: number;
    readonly emailTemplate: EmailTemplate;
  };
  /** Whether its accounts may have endpoints of webhooks of their own. */
  readonly webhooks: { readonly enabled: boolean };
  readonly verificationTemplate: EmailTemplate;
  readonly resetPasswordTemplate: EmailTemplate;
  readonly confirmEmailChangeTemplate: EmailTemplate;
}

export interface EmailTemplate {
  readonly subject: string;
  readonly body: string;
}

export interface TokenOptions {
  readonly duration: number;
}

/** What a token may be for. Each has a secret of its own in every collection, which is never shown. */
export const tokenKinds = [
  'authToken',
  'passwordResetToken',
  'emailChangeToken',
  'verificationToken',
  'fileToken',
] as const;

export type TokenKind = (typeof tokenKinds)[number];

/** A secret of an auth collection: for tokens of one kind, or that of a client at a sign-in provider. */
export type CollectionSecret = TokenKind | ProviderSecret;

type ProviderSecret = `oauth2 ${string}`;

/** Returns the name of the secret of the client at a provider. */
export function providerSecret(provider: string): ProviderSecret {
  return `oauth2 ${provider}`;
}

export const mappedFields = ['id', 'name', 'username', 'avatarURL'] as const;

type MappedField = (typeof mappedFields)[number];

/** The options of a definition that mentions none of them. */
export const defaultAuthOptions: AuthOptions = {
  authRule: '',
  manageRule: null,
  authAlert: {
    enabled: true,
    emailTemplate: template(
      'New sign-in to your {APP_NAME} account',
      "<p>Someone signed in to your {APP_NAME} account from a new device or location:</p>\n<p>{ALERT_INFO}</p>\n<p>If this wasn't you, change your password now. That signs out all devices.</p>",
    ),
  },
  oauth2: { providers: [], mappedFields: { id: '', name: '', username: '', avatarURL: '' }, enabled: false },
  passwordAuth: { enabled: true, identityFields: ['email'] },
  mfa: { enabled: false, duration: 600, rule: '' },
  otp: {
    enabled: false,
    duration: 180,
    length: 8,
    emailTemplate: template(
      'Your {APP_NAME} sign-in code',
      "<p>Your one-time code is <strong>{OTP}</strong></p>\n<p>If you didn't request this, you can ignore this email.</p>",
    ),
  },
  webhooks: { enabled: false },
  authToken: { duration: 432_000 },
  passwordResetToken: { duration: 1_800 },
  emailChangeToken: { duration: 1_800 },
  verificationToken: { duration: 86_400 },
  fileToken: { duration: 180 },
  verificationTemplate: linkTemplate(
    'Verify your email address for {APP_NAME}',
    'Verify email',
    'confirm-verification',
  ),
  resetPasswordTemplate: linkTemplate(
    'Reset your {APP_NAME} password',
    'Choose a new password',
    'confirm-password-reset',
  ),
  confirmEmailChangeTemplate: linkTemplate(
    'Confirm your new email address for {APP_NAME}',
    'Confirm email',
    'confirm-email-change',
  ),
};

function linkTemplate(subject: string, link: string, page: string): EmailTemplate {
  return template(
    subject,
    `<p>${subject}:</p>\n<p><a href="{APP_URL}/_/#/auth/${page}/{TOKEN}" target="_blank" rel="noopener">${link}</a></p>\n<p>If you didn't request this, you can ignore this email.</p>`,
  );
}

function template(subject: string, body: string): EmailTemplate {
  return { subject, body };
}

/** The name of the collection of superusers. Every instance has it, and it cannot be renamed. */
export const superusersName = '_superusers';
/** Limits of definitions; the same on both engines. */
export const collectionLimits = {
  collectionsMax: 1_000,
  fieldsMax: 500,
  indexesMax: 50,
  /** Collections, fields, indexes and rules in one import: many changes take long, in which the instance's other writes wait. */
  importPartsMax: 10_000,
  /** The text as a client writes it. What is stored may be longer: names get quotes, and the collection may be renamed. */
  indexTextLengthMax: 2_000,
  viewQueryLengthMax: 5_000,
  /** All of them are made again where a table changes. */
  viewsMax: 100,
  nameLengthMax: 255,
} as const;

/** Returns the candidates, other than the collection itself, that have a relation to it. */
export function referringTo(
  collection: Collection,
  candidates: readonly Collection[],
): readonly Collection[] {
  return candidates.filter(
    ({ id, fields }) =>
      id !== collection.id &&
      fields.some(({ type, options }) => type === 'relation' && options['collectionId'] === collection.id),
  );
}

/** Returns, by the id of a collection, the first of the candidates that has a relation to it and is another one. */
export function referringById(candidates: readonly Collection[]): ReadonlyMap<unknown, Collection> {
  const referring = new Map<unknown, Collection>();
  for (const candidate of candidates)
    for (const { type, options } of candidate.fields) {
      const id = type === 'relation' ? options['collectionId'] : undefined;
      if (id !== undefined && id !== candidate.id && !referring.has(id)) referring.set(id, candidate);
    }
  return referring;
}

/**
 * Returns the name of a password field's values among a record's secrets. It has the field's id, which stays when the field is
 * renamed. System fields use their names, which never change. The prefix keeps the two apart: a client may choose any id, even
 * `tokenKey`.
 */
export function secretName(field: Field): string {
  return field.system ? field.name : `field:${field.id}`;
}
