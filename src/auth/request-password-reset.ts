import { AppError } from '../base/errors.ts';
import type { Instance } from '../instances/instance.ts';
import { valueOf } from '../records/record.ts';
import type { AccountRequest, WorkAfterAnswer } from './account-request.ts';
import { decodeForm, refuseForm } from './decode-form.ts';
import { emailProblem } from './email-problem.ts';
import { findByIdentity } from './find-by-identity.ts';
import { issueToken } from './issue-token.ts';
import { mailAccount } from './mail-account.ts';
import { withAuthCollection } from './with-auth-collection.ts';

/** Sends whoever has this address what lets them choose a new password. Throws not_found (collection), bad_request. */
export function requestPasswordReset(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    if (!collection.auth.passwordAuth.enabled)
      throw new AppError('bad_request', 'The collection is not configured to allow password authentication.');
    const { email } = decodeForm(body, ['email']);
    refuseForm({ email: emailProblem(email) });
    return (later, mailer) =>
      withAuthCollection(later, collection.id, async (collection) => {
        const record = await findByIdentity(later, collection, { identity: email, fields: ['email'] });
        if (record === undefined) return;
        const to = String(valueOf(record, 'email'));
        const id = String(valueOf(record, 'id'));
        const claims = { email: to };
        await mailAccount(later, mailer, {
          record,
          to,
          purpose: 'password-reset',
          template: collection.auth.resetPasswordTemplate,
          facts: async () => ({
            token: await issueToken(later, { collection, id, kind: 'passwordResetToken', claims }),
          }),
        });
      });
  });
}
