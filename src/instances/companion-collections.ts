import type { Timestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import type { IndexDefinition } from '../collections/index-definition.ts';
import type { RawOptions } from '../fields/field-type.ts';
import { systemCollection } from './system-collection.ts';

const ownerRule =
  "@request.auth.id != '' && recordRef = @request.auth.id && collectionRef = @request.auth.collectionId";

/** The account that a record belongs to. Not a relation, because it may be of any auth collection. */
const account: readonly RawOptions[] = [
  { type: 'text', name: 'collectionRef', required: true },
  { type: 'text', name: 'recordRef', required: true },
];

/** The names of the collections below. */
export const companionNames = ['_externalAuths', '_mfas', '_otps', '_authOrigins'] as const;

export type CompanionName = (typeof companionNames)[number];

/**
 * Returns the companions of auth collections: what accounts have besides their own record (http-api section 19). An owner sees
 * what belongs to their account.
 */
export function companionCollections(now: Timestamp): readonly Collection[] {
  const read = { listRule: ownerRule, viewRule: ownerRule };
  return [
    systemCollection({
      id: 'pbc_2281828961',
      name: '_externalAuths',
      now,
      rules: { ...read, deleteRule: ownerRule },
      fields: [...account, requiredText('provider'), requiredText('providerId')],
      indexes: [
        index('idx_externalAuths_record_provider', ['collectionRef', 'recordRef', 'provider'], true),
        index('idx_externalAuths_collection_provider', ['collectionRef', 'provider', 'providerId'], true),
      ],
    }),
    systemCollection({
      id: 'pbc_2279338944',
      name: '_mfas',
      now,
      rules: read,
      fields: [...account, requiredText('method')],
      indexes: [index('idx_mfas_collectionRef_recordRef', ['collectionRef', 'recordRef'], false)],
    }),
    systemCollection({
      id: 'pbc_1638494021',
      name: '_otps',
      now,
      rules: read,
      fields: [
        ...account,
        { type: 'password', name: 'password', hidden: true, required: true, cost: 8 },
        { type: 'text', name: 'sentTo', hidden: true },
      ],
      indexes: [index('idx_otps_collectionRef_recordRef', ['collectionRef', 'recordRef'], false)],
    }),
    systemCollection({
      id: 'pbc_4275539003',
      name: '_authOrigins',
      now,
      rules: { ...read, deleteRule: ownerRule },
      fields: [...account, requiredText('fingerprint')],
      indexes: [index('idx_authOrigins_unique_pairs', ['collectionRef', 'recordRef', 'fingerprint'], true)],
    }),
  ];
}

function requiredText(name: string): RawOptions {
  return { type: 'text', name, required: true };
}

function index(name: string, columns: readonly string[], isUnique: boolean): IndexDefinition {
  return {
    name,
    isUnique,
    columns: columns.map((column) => ({ name: column, isNocase: false, isDescending: false })),
    where: [],
  };
}
