import { AppError, type FieldError, type FieldErrors } from '../../base/errors.ts';
import { ownMember, type JsonObject } from '../../base/json.ts';
import { fromTimestamp, type Timestamp } from '../../base/timestamp.ts';
import type { CollectionFinder } from '../../collections/collection-store.ts';
import type { Decoded } from '../../fields/decoded.ts';
import { fieldError, invalidValue, unknownMembers } from '../../fields/field-error.ts';
import { parseDate } from '../../fields/parse-date.ts';
import { keyScopes, type KeyScope } from '../../rules/key-scope.ts';
import { apiKeyLimits, type ApiKey } from './api-key.ts';

/** What the owner of a key decides about it. */
export type ApiKeySettings = Pick<ApiKey, 'name' | 'scopes' | 'collections' | 'expires'>;

export interface DecodeApiKeyContext {
  readonly collections: CollectionFinder;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const settingNames = [
  'name',
  'scopes',
  'collections',
  'expires',
] as const satisfies readonly (keyof ApiKeySettings)[];
/** Members of a key that only answers have. They are ignored, so that a key may be made like one that was shown. */
const shownNames = ['id', 'key', 'created', 'lastUsed'] as const;

/** Reads a key's settings from a body. Throws bad_request with the problem of each member. */
export function decodeApiKey(body: JsonObject, context: DecodeApiKeyContext): ApiKeySettings {
  const errors: Record<string, FieldError | FieldErrors> = {
    ...unknownMembers(body, settingNames, shownNames),
  };
  function member<Value>(name: string, decode: (value: unknown) => Decoded<Value>, fallback: Value): Value {
    const decoded = decode(ownMember(body, name) ?? null);
    if ('value' in decoded) return decoded.value;
    errors[name] = decoded.error;
    return fallback;
  }
  const settings = {
    name: member('name', decodeName, ''),
    scopes: member('scopes', decodeScopes, []),
    collections: member('collections', (value) => decodeCollections(value, context), null),
    expires: member('expires', (value) => decodeExpires(value, context), ''),
  };
  // A key that may change definitions or add endpoints can read everything: a list of collections would only seem to bind it.
  const isUnbound = settings.scopes.some((scope) => !scope.startsWith('records:'));
  if (settings.collections !== null && isUnbound && errors['collections'] === undefined)
    errors['collections'] = invalidValue(
      'Only a key whose scopes are all of records can be bound to collections.',
    );
  if (Object.keys(errors).length > 0)
    throw new AppError('bad_request', 'Failed to create API key.', { details: errors });
  return settings;
}

function decodeName(value: unknown): Decoded<string> {
  if (value === null || value === '') return { error: fieldError('validation_required') };
  if (typeof value === 'string' && value.length <= apiKeyLimits.nameLengthMax) return { value };
  return { error: invalidValue(`Must be text of at most ${apiKeyLimits.nameLengthMax} characters.`) };
}

function decodeScopes(value: unknown): Decoded<readonly KeyScope[]> {
  if (value === null) return { error: fieldError('validation_required') };
  const wanted: readonly unknown[] = Array.isArray(value) ? value : [];
  const scopes = keyScopes.filter((scope) => wanted.includes(scope));
  if (scopes.length > 0 && wanted.every((item) => scopes.some((scope) => scope === item)))
    return { value: scopes };
  return { error: invalidValue(`Must be one or more of ${keyScopes.join(', ')}.`) };
}

/** Takes names or ids and returns ids. Null means every collection; an empty list is refused, as it must not mean the same. */
function decodeCollections(
  value: unknown,
  { collections }: DecodeApiKeyContext,
): Decoded<readonly string[] | null> {
  if (value === null) return { value };
  if (!Array.isArray(value) || value.length === 0 || value.length > apiKeyLimits.collectionsMax) {
    const message = `Must be null for all, or an array of 1 to ${apiKeyLimits.collectionsMax} names or ids of collections.`;
    return { error: invalidValue(message) };
  }
  const ids = new Set<string>();
  for (const item of value) {
    const collection = typeof item === 'string' ? collections.find(item) : undefined;
    if (collection === undefined)
      return { error: invalidValue(`There is no collection ${JSON.stringify(item)}.`) };
    if (collection.system)
      return { error: invalidValue(`The collection ${collection.name} needs the scope admin, and no list.`) };
    ids.add(collection.id);
  }
  return { value: [...ids] };
}

function decodeExpires(value: unknown, { now }: DecodeApiKeyContext): Decoded<Timestamp> {
  if (value === null || value === '') return { value: '' };
  const expires = typeof value === 'string' ? parseDate(value) : '';
  if (expires === '') return { error: invalidValue('Must be a date.') };
  return fromTimestamp(expires) > now
    ? { value: expires }
    : { error: invalidValue('Must be in the future.') };
}
