import type { Timestamp } from '../base/timestamp.ts';
import { keyScopes, type KeyScope } from '../rules/key-scope.ts';
import { sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';

/**
 * What a program has in place of a sign-in. The key itself is `ck_`, the id and 43 characters that nobody can guess; of it only
 * a digest is kept, so that neither the database nor a backup has anything to sign in with.
 */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** Ids of collections; null for all but those of the service itself. */
  readonly collections: readonly string[] | null;
  /** From when on it is refused; empty for never. */
  readonly expires: Timestamp;
  readonly created: Timestamp;
  /** To the minute; empty when it never was. */
  readonly lastUsed: Timestamp;
}

export const apiKeyLimits = {
  /** Of an instance. */
  keysMax: 1_000,
  nameLengthMax: 255,
  collectionsMax: 200,
} as const;

/** Of `$api_key`, as {@link toApiKey} reads them. */
export const apiKeyColumns = sql`id, name, scopes, collections, expires, created, last_used`;

export function toApiKey([id, name, scopes, collections, expires, created, lastUsed]: Tuple): ApiKey {
  // Written by createApiKey, which checked it.
  const given = JSON.parse(String(scopes)) as readonly string[];
  return {
    id: String(id),
    name: String(name),
    // What a newer version may have added is nothing that this one grants.
    scopes: keyScopes.filter((scope) => given.includes(scope)),
    // As above.
    collections: JSON.parse(String(collections)) as readonly string[] | null,
    expires: String(expires),
    created: String(created),
    lastUsed: String(lastUsed),
  };
}
