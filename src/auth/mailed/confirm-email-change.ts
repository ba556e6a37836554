import type { FieldError } from '../../base/errors.ts';
import { fieldError } from '../../fields/field-error.ts';
import { fieldType } from '../../fields/field-types.ts';
import type { Instance } from '../../instances/instance.ts';
import { changeAccount } from '../../records/accounts/change-account.ts';
import { eraseAccount } from '../../records/accounts/erase-account.ts';
import { guardOldPassword } from '../../records/accounts/guard-old-password.ts';
import { valueOf, type StoredRecord } from '../../records/record.ts';
import type { WriteScope } from '../../records/record-write.ts';
import { RefusedWrite } from '../../records/refused-write.ts';
import { guest } from '../../rules/caller.ts';
import { verifyPassword } from '../../secrets/password.ts';
import { readSecret } from '../../secrets/secrets.ts';
import { refuseSuperusers, type AccountRequest } from '../account-request.ts';
import { decodeForm, refuseForm } from '../decode-form.ts';
import { readMailedToken, refuseToken, useMailedToken, type MailedToken } from './mailed-token.ts';
import { withAuthCollection } from '../with-auth-collection.ts';

/**
 * Changes an account's address to the one that the token was sent to, if the password is right. The address is verified by that;
 * the account's sessions end, and so do codes sent to the old address and links to external accounts. Throws not_found
 * (collection), bad_request, and too_many_requests after too many wrong passwords.
 */
export function confirmEmailChange(
  instance: Instance,
  { collection: name, facts, body }: AccountRequest,
): Promise<void> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers can change their emails directly.');
    const { token: text, password } = decodeForm(body, ['token', 'password']);
    const token = await readMailedToken(instance, text, {
      collection,
      kind: 'emailChangeToken',
      claims: ['email', 'newEmail'].map((claim) => ({ name: claim, problem: noNewEmail })),
    });
    if (password === '') refuseForm({ password: fieldError('validation_required') });
    if (!(await isPasswordRight(instance, token, password))) refuseForm({ password: wrongPassword });
    await useMailedToken(instance, { facts, token }, (scope, existing) =>
      moveAccount(scope, existing, token),
    );
  });
}

/** Checks the password. It need not be checked again when the token is used: a change of the password makes the token invalid. */
async function isPasswordRight(
  instance: Instance,
  { collection, id }: MailedToken,
  password: string,
): Promise<boolean> {
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = await readSecret(instance.database, key);
  const attempt = { caller: guest, collection: collection.id, id };
  return guardOldPassword(instance, attempt, () => verifyPassword(password, hash));
}

async function moveAccount(scope: WriteScope, existing: StoredRecord, token: MailedToken): Promise<void> {
  const { collection } = existing;
  const email = token.claim('newEmail');
  const field = collection.fields.find(({ name }) => name === 'email');
  const isAllowed = field !== undefined && fieldType(field).check(email, field.options) === undefined;
  if (valueOf(existing, 'email') !== token.claim('email') || !isAllowed) refuseToken(refusedEmail);
  try {
    await changeAccount(scope, existing, { email, verified: true });
  } catch (error) {
    if (error instanceof RefusedWrite) refuseToken(refusedEmail);
    throw error;
  }
  await eraseAccount(scope, { collection, id: token.id, only: ['_externalAuths', '_otps'] });
}

const noNewEmail: FieldError = {
  code: 'validation_invalid_token_payload',
  message: 'The token names no new address.',
};

const refusedEmail: FieldError = {
  code: 'validation_invalid_token_email',
  message: 'The account cannot have the address of the token.',
};

const wrongPassword: FieldError = {
  code: 'validation_invalid_password',
  message: 'Missing or invalid password of the account.',
};
