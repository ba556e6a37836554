import { tooManyRequests, type FieldError } from '../../base/errors.ts';
import { fieldError } from '../../fields/field-error.ts';
import { fieldType } from '../../fields/field-types.ts';
import type { Instance } from '../../instances/instance.ts';
import { countingOf } from '../../limits/counting-of.ts';
import { secondsUntil } from '../../limits/seconds-until.ts';
import { SharedCounter } from '../../limits/shared-counter.ts';
import { findRecord } from '../../records/find-record.ts';
import { valueOf, type StoredRecord } from '../../records/record.ts';
import type { Caller, User } from '../../rules/caller.ts';
import { refuseSuperusers, type AccountRequest, type WorkAfterAnswer } from '../account-request.ts';
import { decodeForm, refuseForm } from '../decode-form.ts';
import { emailProblem } from '../email-problem.ts';
import { findByIdentity } from '../find-by-identity.ts';
import { issueToken } from '../issue-token.ts';
import { mailAccount } from '../mail-account.ts';
import { accountRequired, tokenRequired } from '../token-required.ts';
import { withAuthCollection, type AuthCollection } from '../with-auth-collection.ts';

/** How often one account may ask, as the mail goes to any address that it names. docs/accounts.md repeats these numbers. */
const emailChangeLimits = { windowMs: 60 * 60_000, askedMax: 10 } as const;

/** Keys of the counter; about 200 bytes each. */
const keysMax = 50_000;

const asked = new SharedCounter({ kind: 'email change', keysMax });

/**
 * Mails a token that confirms a new address of the account to that address. Throws not_found (collection), unauthorized, forbidden
 * (an account of another collection), bad_request, too_many_requests.
 */
export function requestEmailChange(
  instance: Instance,
  { collection: name, facts, body }: AccountRequest,
): Promise<WorkAfterAnswer> {
  return withAuthCollection(instance, name, async (collection) => {
    const { id } = requireOwn(facts.caller, collection);
    const { newEmail } = decodeForm(body, ['newEmail']);
    const record = await findRecord(instance.database, collection, id);
    if (record === undefined) throw tokenRequired();
    refuseForm({ newEmail: newEmailProblem(record, newEmail) });
    await requireSeldom(instance, `${instance.id}|${collection.id}|${id}`);
    const other = await findByIdentity(instance, collection, { identity: newEmail, fields: ['email'] });
    if (other !== undefined && valueOf(other, 'id') !== id) refuseForm({ newEmail: takenEmail });
    return (later, mailer) =>
      withAuthCollection(later, collection.id, async (collection) => {
        const claims = { email: String(valueOf(record, 'email')), newEmail };
        await mailAccount(later, mailer, {
          record,
          to: newEmail,
          purpose: 'email-change',
          template: collection.auth.confirmEmailChangeTemplate,
          facts: async () => ({
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
  const counting = countingOf(instance);
  const { windowMs: durationMs, askedMax: max } = emailChangeLimits;
  const { isAllowed, endMs } = await asked.take(key, { max, durationMs, ...counting });
  if (!isAllowed) throw tooManyRequests(secondsUntil(endMs, counting.nowMs));
}

const takenEmail: FieldError = {
  code: 'validation_invalid_new_email',
  message: 'The account cannot have this address.',
};
