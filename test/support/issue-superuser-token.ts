import assert from 'node:assert/strict';
import { findByIdentity } from '../../src/auth/sign-in.ts';
import { issueToken } from '../../src/auth/tokens.ts';
import { withAuthCollection } from '../../src/auth/auth-collection.ts';
import { superusersName } from '../../src/collections/collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { valueOf } from '../../src/records/record.ts';

/** Returns a token as a sign-in would answer it, without the cost of a password hash. */
export function issueSuperuserToken(instance: Instance, email: string): Promise<string> {
  return withAuthCollection(instance, superusersName, async (collection) => {
    const record = await findByIdentity(instance, collection, { identity: email, fields: ['email'] });
    assert.ok(record, `expected a superuser ${email}`);
    const claims = { refreshable: true };
    return issueToken(instance, { collection, id: String(valueOf(record, 'id')), kind: 'authToken', claims });
  });
}
