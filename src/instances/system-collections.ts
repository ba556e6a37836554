import { crc32 } from 'node:zlib';
import type { Timestamp } from '../base/timestamp.ts';
import { lockedRules, type Collection } from '../collections/collection.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import { createdField, decodeField, idField, updatedField, type Field } from '../fields/field.ts';
import { assert } from '../base/assert.ts';
import type { Sealer } from '../secrets/seal.ts';
import { writeSecret } from '../secrets/secrets.ts';
import { newTokenSecret } from '../secrets/token.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

/** The collection of those who may do everything in an instance. Its id is what clients know it by. */
export const superusersName = '_superusers';
const superusersId = 'pbc_3142635823';
const SUPERUSER_TOKEN_SECONDS = 86_400;

export interface SystemCollectionsOptions {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly now: Timestamp;
}

/** Makes the collections that every instance has, if this one has them not. */
export async function ensureSystemCollections(options: SystemCollectionsOptions): Promise<void> {
  const { database, sealer } = options;
  const present = sql`SELECT 1 FROM ${database.names.table('$collection')} WHERE ${database.names.scope} AND id = ${superusersId}`;
  if ((await database.get(present)) !== undefined) return;
  await database.write(
    async (tx) => {
      // Asked again: another process may be opening the same new instance.
      if ((await tx.get(present)) !== undefined) return;
      await new CollectionStore().create(tx, superusers(options.now));
      const key = { collection: superusersId, record: '', name: 'authToken' };
      const place = { purpose: 'token-secret', id: superusersId };
      await writeSecret(tx, key, sealer.seal(newTokenSecret(), place));
    },
    { isExclusive: true },
  );
}

function superusers(now: Timestamp): Collection {
  return {
    id: superusersId,
    name: superusersName,
    type: 'auth',
    system: true,
    rules: lockedRules,
    fields: [
      idField(),
      systemField({ type: 'email', name: 'email', required: true }),
      systemField({ type: 'bool', name: 'emailVisibility' }),
      systemField({ type: 'bool', name: 'verified' }),
      { ...createdField(), system: true },
      { ...updatedField(), system: true },
    ],
    indexes: [
      {
        name: `idx_email_${superusersId}`,
        isUnique: true,
        columns: [{ name: 'email', isNocase: false, isDescending: false }],
        where: [{ column: 'email', operator: '!=', value: '' }],
      },
    ],
    auth: { identityFields: ['email'], tokenSeconds: SUPERUSER_TOKEN_SECONDS },
    created: now,
    updated: now,
  };
}

function systemField(definition: {
  readonly type: string;
  readonly name: string;
  readonly required?: boolean;
}): Field {
  const raw = { ...definition, id: `${definition.type}${crc32(definition.name)}`, system: true };
  const problems: string[] = [];
  const field = decodeField(raw, { add: (name) => problems.push(name) });
  assert(field !== undefined && problems.length === 0, `the field ${definition.name} is well defined`);
  return field;
}
