import type { Instance } from '../instances/instance.ts';
import { valueOf } from '../records/record.ts';
import { refuseSuperusers, type AccountRequest, type WorkAfterAnswer } from './account-request.ts';
import { decodeForm, refuseForm } from './decode-form.ts';
import { emailProblem } from './email-problem.ts';
import { findByIdentity } from './find-by-identity.ts';
import { issueToken } from './issue-token.ts';
import { mailAccount } from './mail-account.ts';
import { withAuthCollection } from './with-auth-collection.ts';

/** Sends whoever has this address and is not verified what verifies them. Throws not_found (collection), bad_request. */
export function requestVerification(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers are verified by default.');
    const { email } = decodeForm(body, ['email']);
    refuseForm({ email: emailProblem(email) });
    return (later, mailer) =>
      withAuthCollection(later, collection.id, async (collection) => {
        const record = await findByIdentity(later, collection, { identity: email, fields: ['email'] });
        if (record === undefined || valueOf(record, 'verified') === 1) return;
        // As it is stored, whatever was taken for the same.
        const to = String(valueOf(record, 'email'));
        const id = String(valueOf(record, 'id'));
        const claims = { email: to };
        await mailAccount(later, mailer, {
          record,
          to,
          purpose: 'verification',
          template: collection.auth.verificationTemplate,
          facts: async () => ({
            token: await issueToken(later, { collection, id, kind: 'verificationToken', claims }),
          }),
        });
      });
  });
}
