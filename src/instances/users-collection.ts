import type { Timestamp } from '../base/timestamp.ts';
import { defaultAuthOptions } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import { systemCollection } from './system-collection.ts';

const ownerRule = 'id = @request.auth.id';
const avatarTypes = ['image/jpeg', 'image/png', 'image/svg+xml', 'image/gif', 'image/webp'];

/**
 * Returns the collection for the users of a new instance, which its owner may change or delete. Everyone may sign up; users see
 * only themselves.
 */
export function usersCollection(now: Timestamp): Collection {
  const made = systemCollection({
    id: '_pb_users_auth_',
    name: 'users',
    now,
    rules: {
      listRule: ownerRule,
      viewRule: ownerRule,
      createRule: '',
      updateRule: ownerRule,
      deleteRule: ownerRule,
    },
    fields: [
      { type: 'text', name: 'name', max: 255 },
      { type: 'file', name: 'avatar', maxSelect: 1, mimeTypes: avatarTypes },
    ],
    auth: {
      ...defaultAuthOptions,
      oauth2: {
        ...defaultAuthOptions.oauth2,
        mappedFields: { id: '', name: 'name', username: '', avatarURL: 'avatar' },
      },
    },
  });
  const itsOwn = new Set(['name', 'avatar', 'created', 'updated']);
  const fields = made.fields.map((field) => (itsOwn.has(field.name) ? { ...field, system: false } : field));
  return { ...made, system: false, fields };
}
