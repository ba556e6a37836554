import { shareOf } from '../access/rule-input.ts';
import { assert } from '../base/assert.ts';
import type { FieldError } from '../base/errors.ts';
import { fieldError } from '../fields/field-error.ts';
import { fieldType } from '../fields/field-types.ts';
import type { Instance } from '../instances/instance.ts';
import { changeAccount } from '../records/change-account.ts';
import { refusedAs } from '../records/record-write.ts';
import { valueOf } from '../records/record.ts';
import {
  type AccountRequest,
  decodeAddress,
  decodeForm,
  requirePasswordAuth,
  type WorkAfterAnswer,
} from './account-request.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { mailTokenTo, readMailedToken, useMailedToken } from './mailed-token.ts';

/** Mails a token for choosing a new password to the account with this address. Throws not_found (collection), bad_request. */
export function requestPasswordReset(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    requirePasswordAuth(collection);
    const email = decodeAddress(body);
    return mailTokenTo(email, {
      collection: collection.id,
      purpose: 'password-reset',
      kind: 'passwordResetToken',
      templateOf: ({ auth }) => auth.resetPasswordTemplate,
      isFor: () => true,
    });
  });
}

/**
 * Sets a new password for the token's account, which ends its sessions and makes the token invalid. The token has shown that its
 * address is the owner's, so that address becomes verified if the account still has it. Throws not_found (collection), bad_request,
 * unavailable.
 */
export function confirmPasswordReset(
  instance: Instance,
  { collection: name, input, body }: AccountRequest,
): Promise<void> {
  return withAuthCollection(instance, name, async (collection) => {
    // Passwords may have been switched off since the mail was sent.
    requirePasswordAuth(collection);
    const form = decodeForm(body, ['token', 'password', 'passwordConfirm']);
    const token = await readMailedToken(instance, form.token, {
      collection,
      kind: 'passwordResetToken',
      claims: [],
      problems: {
        password: passwordProblem(collection, form.password),
        passwordConfirm: confirmProblem(form),
      },
    });
    const passwordHash = await instance.passwords.hash(form.password, shareOf(instance.id, input));
    await useMailedToken(instance, { input, token }, async (scope, existing) => {
      const isSame = valueOf(existing, 'email') === token.claim('email');
      const change = changeAccount(scope, existing, { passwordHash, ...(isSame && { verified: true }) });
      await refusedAs('Failed to set the new password.', change);
    });
  });
}

function passwordProblem({ fields }: AuthCollection, password: string): FieldError | undefined {
  const field = fields.find(({ name }) => name === 'password');
  assert(field !== undefined, 'the collection of an account has a password field');
  if (password === '') return fieldError('validation_required');
  return fieldType(field).check(password, field.options);
}

function confirmProblem({
  password,
  passwordConfirm,
}: {
  readonly password: string;
  readonly passwordConfirm: string;
}): FieldError | undefined {
  if (passwordConfirm === '') return fieldError('validation_required');
  if (passwordConfirm === password) return undefined;
  return { code: 'validation_values_mismatch', message: "Values don't match." };
}
