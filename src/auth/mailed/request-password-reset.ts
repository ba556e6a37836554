import type { Instance } from '../../instances/instance.ts';
import { requirePasswordAuth, type AccountRequest, type WorkAfterAnswer } from '../account-request.ts';
import { decodeForm, refuseForm } from '../decode-form.ts';
import { emailProblem } from '../email-problem.ts';
import { mailTokenTo } from './mail-token-to.ts';
import { withAuthCollection } from '../with-auth-collection.ts';

/** Mails a token for choosing a new password to the account with this address. Throws not_found (collection), bad_request. */
export function requestPasswordReset(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    requirePasswordAuth(collection);
    const { email } = decodeForm(body, ['email']);
    refuseForm({ email: emailProblem(email) });
    return mailTokenTo(email, {
      collection: collection.id,
      purpose: 'password-reset',
      kind: 'passwordResetToken',
      templateOf: ({ auth }) => auth.resetPasswordTemplate,
      isFor: () => true,
    });
  });
}
