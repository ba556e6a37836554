import type { Timestamp } from '../../base/timestamp.ts';
import { keyScopes, type KeyScope } from '../../rules/key-scope.ts';
import { sql } from '../../sql/sql.ts';
import type { Tuple } from '../../storage/database.ts';

/**
 * What a program uses in place of a sign-in. The key itself is `ck_`, the id and 43 random characters; only its digest is stored,
 * so that nobody can sign in with what is in the database or a backup.
 */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** Ids of the collections that it is bound to; null for all but the service's own. */
  readonly collections: readonly string[] | null;
  /** The time from which the key is refused; empty for never. */
  readonly expires: Timestamp;
  readonly created: Timestamp;
  /** When it was last used, to the minute; empty if never. */
  readonly lastUsed: Timestamp;
}

export const apiKeyLimits = {
  /** Keys of one instance. */
  keysMax: 1_000,
  nameLengthMax: 255,
  collectionsMax: 200,
} as const;

/** The columns of `$api_key` in the order that {@link toApiKey} expects. */
export const apiKeyColumns = sql`id, name, scopes, collections, expires, created, last_used`;

export function toApiKey([id, name, scopes, collections, expires, created, lastUsed]: Tuple): ApiKey {
  // Written by createApiKey, which checked it.
  const given = JSON.parse(String(scopes)) as readonly string[];
  return {
    id: String(id),
    name: String(name),
    // Scopes that a newer version has added grant nothing here.
    scopes: keyScopes.filter((scope) => given.includes(scope)),
    // Written by createApiKey, which checked it.
    collections: JSON.parse(String(collections)) as readonly string[] | null,
    expires: String(expires),
    created: String(created),
    lastUsed: String(lastUsed),
  };
}
