import type { FieldError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { changeAccount } from '../records/change-account.ts';
import { refusedAs } from '../records/record-write.ts';
import { valueOf } from '../records/record.ts';
import {
  type AccountRequest,
  decodeAddress,
  decodeForm,
  refuseSuperusers,
  type WorkAfterAnswer,
} from './account-request.ts';
import { withAuthCollection } from './auth-collection.ts';
import { mailTokenTo, readMailedToken, refuseToken, useMailedToken } from './mailed-token.ts';

/** Mails a verification token to the account with this address unless it is verified. Throws not_found (collection), bad_request. */
export function requestVerification(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers are verified by default.');
    const email = decodeAddress(body);
    return mailTokenTo(email, {
      collection: collection.id,
      purpose: 'verification',
      kind: 'verificationToken',
      templateOf: ({ auth }) => auth.verificationTemplate,
      isFor: (record) => valueOf(record, 'verified') !== 1,
    });
  });
}

/**
 * Verifies the token's account, if it still has the address that the token was sent to. A second use succeeds as well, as mail
 * scanners follow links before people do. Throws not_found (collection), bad_request.
 */
export function confirmVerification(
  instance: Instance,
  { collection: name, input, body }: AccountRequest,
): Promise<void> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers are verified by default.');
    const { token: text } = decodeForm(body, ['token']);
    const token = await readMailedToken(instance, text, {
      collection,
      kind: 'verificationToken',
      claims: [{ name: 'email', problem: noEmail }],
    });
    await useMailedToken(instance, { input, token }, async (scope, existing) => {
      if (valueOf(existing, 'email') !== token.claim('email')) refuseToken(otherEmail);
      await refusedAs('Failed to verify the account.', changeAccount(scope, existing, { verified: true }));
    });
  });
}

const noEmail: FieldError = {
  code: 'validation_invalid_token_claims',
  message: 'The token names no address.',
};

const otherEmail: FieldError = {
  code: 'validation_token_email_mismatch',
  message: 'The token is for another address than the account has.',
};
