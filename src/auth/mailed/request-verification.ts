import type { Instance } from '../../instances/instance.ts';
import { valueOf } from '../../records/record.ts';
import { refuseSuperusers, type AccountRequest, type WorkAfterAnswer } from '../account-request.ts';
import { decodeForm, refuseForm } from '../decode-form.ts';
import { emailProblem } from '../email-problem.ts';
import { mailTokenTo } from './mail-token-to.ts';
import { withAuthCollection } from '../with-auth-collection.ts';

/** Mails a verification token to the account with this address unless it is verified. Throws not_found (collection), bad_request. */
export function requestVerification(
  instance: Instance,
  { collection: name, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    refuseSuperusers(collection, 'All superusers are verified by default.');
    const { email } = decodeForm(body, ['email']);
    refuseForm({ email: emailProblem(email) });
    return mailTokenTo(email, {
      collection: collection.id,
      purpose: 'verification',
      kind: 'verificationToken',
      templateOf: ({ auth }) => auth.verificationTemplate,
      isFor: (record) => valueOf(record, 'verified') !== 1,
    });
  });
}
