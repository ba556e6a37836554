import type { EmailTemplate, TokenKind } from '../collections/auth-options.ts';
import { findRecord } from '../records/find-record.ts';
import { valueOf, type StoredRecord } from '../records/record.ts';
import type { WorkAfterAnswer } from './account-request.ts';
import { findByIdentity } from './find-by-identity.ts';
import { findTokenKey } from './find-token-key.ts';
import { issueToken } from './issue-token.ts';
import { mailAccount } from './mail-account.ts';
import { withAuthCollection, type AuthCollection } from './with-auth-collection.ts';

export interface TokenMail {
  /** Id of the collection. */
  readonly collection: string;
  readonly purpose: string;
  readonly kind: TokenKind;
  readonly templateOf: (collection: AuthCollection) => EmailTemplate;
  /** Whether this account is to be sent anything. */
  readonly isFor: (record: StoredRecord) => boolean;
}

/** Sends whoever has this address, if anybody has, a token that is good for as long as they have it. */
export function mailTokenTo(
  email: string,
  { collection: collectionId, purpose, kind, templateOf, isFor }: TokenMail,
): WorkAfterAnswer {
  return (instance, mailer) =>
    withAuthCollection(instance, collectionId, async (collection) => {
      const record = await findByIdentity(instance, collection, { identity: email, fields: ['email'] });
      if (record === undefined || !isFor(record)) return;
      const id = String(valueOf(record, 'id'));
      const key = await findTokenKey(instance, collection, { record: id, kind });
      // Looked at once more behind the key: of an account that was moved since, the old address gets nothing that is good for it.
      const now = await findRecord(instance.database, collection, id);
      if (key === undefined || now === undefined || valueOf(now, 'email') !== valueOf(record, 'email'))
        return;
      // As it is stored, whatever was taken for the same.
      const to = String(valueOf(record, 'email'));
      const account = { collection, id, kind, claims: { email: to }, key };
      const facts = async () => ({ token: await issueToken(instance, account) });
      await mailAccount(instance, mailer, { record, to, purpose, template: templateOf(collection), facts });
    });
}
