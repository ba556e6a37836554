import { type Caller, guest, type User } from '../access/caller.ts';
import { type RuleInput, shareOf } from '../access/rule-input.ts';
import { type FieldError, tooManyRequests } from '../base/errors.ts';
import { fieldError } from '../fields/field-error.ts';
import { fieldType } from '../fields/field-types.ts';
import type { Instance } from '../instances/instance.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import { changeAccount } from '../records/change-account.ts';
import { guardOldPassword } from '../records/passwords.ts';
import { eraseAccount } from '../records/sessions.ts';
import { findRecord } from '../records/find-record.ts';
import { RefusedWrite, type WriteScope } from '../records/record-write.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { readSecret } from '../secrets/secrets.ts';
import { mailAccount } from './account-mail.ts';
import {
  type AccountRequest,
  decodeForm,
  emailProblem,
  refuseForm,
  refuseSuperusers,
  type WorkAfterAnswer,
} from './account-request.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { accountRequired, requireAccounts, tokenRequired } from './authenticate.ts';
import { type MailedToken, readMailedToken, refuseToken, useMailedToken } from './mailed-token.ts';
import { findByExactIdentity } from './sign-in.ts';
import { issueToken } from './tokens.ts';

/** How often one account may request a change, as the mail goes to any address that it names. docs/accounts.md repeats these numbers. */
const emailChangeLimits = { windowMs: 60 * 60_000, requestsMax: 10 } as const;

const requests = new SharedCounter({ kind: 'email change' });

/**
 * Mails a token that confirms a new address of the account to that address. Throws not_found (collection), unauthorized, forbidden
 * (an account of another collection), bad_request, too_many_requests.
 */
export function requestEmailChange(
  instance: Instance,
  { collection: name, input, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  requireAccounts(instance, name, input.caller);
  return withAuthCollection(instance, name, async (collection) => {
    const { id } = requireOwn(input.caller, collection);
    const { newEmail } = decodeForm(body, ['newEmail']);
    const record = await findRecord(instance.database, collection, id);
    if (record === undefined) throw tokenRequired();
    refuseForm({ newEmail: newEmailProblem(record, newEmail) });
    await requireSeldom(instance, `${collection.id}|${id}`);
    const other = await findByExactIdentity(instance, collection, { identity: newEmail, fields: ['email'] });
    if (other !== undefined && valueOf(other, 'id') !== id) refuseForm({ newEmail: takenEmail });
    return (later, mailer) =>
      withAuthCollection(later, collection.id, async (collection) => {
        const claims = { email: String(valueOf(record, 'email')), newEmail };
        await mailAccount(later, mailer, {
          record,
          to: newEmail,
          purpose: 'email-change',
          template: collection.auth.confirmEmailChangeTemplate,
          values: async () => ({
            token: await issueToken(later, { collection, id, kind: 'emailChangeToken', claims }),
          }),
        });
      });
  });
}

function requireOwn(caller: Caller, collection: AuthCollection): Pick<User, 'id'> {
  if (caller.kind === 'guest') throw tokenRequired();
  if (caller.kind === 'superuser')
    refuseSuperusers(collection, 'All superusers can change their emails directly.');
  if (caller.kind === 'user' && caller.collectionId === collection.id) return caller;
  throw accountRequired(collection);
}

/** Checks the address by the rules of the form, then by those of the collection's own field. */
function newEmailProblem(record: StoredRecord, newEmail: string): FieldError | undefined {
  if (newEmail !== '' && newEmail === valueOf(record, 'email'))
    return fieldError('validation_not_in_invalid');
  const field = record.collection.fields.find(({ name }) => name === 'email');
  return emailProblem(newEmail) ?? (field && fieldType(field).check(newEmail, field.options));
}

async function requireSeldom(instance: Instance, key: string): Promise<void> {
  const { windowMs: durationMs, requestsMax: max } = emailChangeLimits;
  const { isAllowed, resetSeconds } = await requests.take(instance, key, { max, durationMs });
  if (!isAllowed) throw tooManyRequests(resetSeconds);
}

const takenEmail: FieldError = {
  code: 'validation_invalid_new_email',
  message: 'The account cannot have this address.',
};

/**
 * Changes an account's address to the one that the token was sent to, if the password is right. The address is verified by that;
 * the account's sessions end, and so do codes sent to the old address and links to external accounts. Throws not_found
 * (collection), bad_request, and too_many_requests after too many wrong passwords.
 */
export function confirmEmailChange(
  instance: Instance,
  { collection: name, input, body }: AccountRequest,
): Promise<void> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers can change their emails directly.');
    const { token: text, password } = decodeForm(body, ['token', 'password']);
    const token = await readMailedToken(instance, text, {
      collection,
      kind: 'emailChangeToken',
      claims: ['email', 'newEmail'].map((claim) => ({ name: claim, problem: noNewEmail })),
      problems: { password: password === '' ? fieldError('validation_required') : undefined },
    });
    if (!(await isPasswordRight(instance, token, { input, password })))
      refuseForm({ password: wrongPassword });
    await useMailedToken(instance, { input, token }, (scope, existing) =>
      moveAccount(scope, existing, token),
    );
  });
}

/** Checks the password. It need not be checked again when the token is used: a change of the password makes the token invalid. */
async function isPasswordRight(
  instance: Instance,
  { collection, id }: MailedToken,
  { input, password }: { readonly input: RuleInput; readonly password: string },
): Promise<boolean> {
  const key = { collection: collection.id, record: id, name: 'password' };
  const hash = await readSecret(instance.database, key);
  const attempt = { caller: guest, collection: collection.id, id };
  return guardOldPassword(instance, attempt, () =>
    instance.passwords.verify(password, hash, shareOf(instance.id, input)),
  );
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
