import type { EmailTemplate, TokenKind } from '../../collections/auth-options.ts';
import { findRecord } from '../../records/find-record.ts';
import { valueOf, type StoredRecord } from '../../records/record.ts';
import type { WorkAfterAnswer } from '../account-request.ts';
import { findByIdentity } from '../find-by-identity.ts';
import { findTokenKey } from '../find-token-key.ts';
import { issueToken } from '../issue-token.ts';
import { mailAccount } from '../mail-account.ts';
import { withAuthCollection, type AuthCollection } from '../with-auth-collection.ts';

export interface TokenMail {
  /** Id of the collection. */
  readonly collection: string;
  readonly purpose: string;
  readonly kind: TokenKind;
  readonly templateOf: (collection: AuthCollection) => EmailTemplate;
  /** Whether this account is sent a mail at all. */
  readonly isFor: (record: StoredRecord) => boolean;
}

/** Sends a token to the account with this address, if there is one. The token is valid while the account keeps the address. */
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
      // Read again after the key: if the address was changed in between, the old one must not get a token made with the new key.
      const now = await findRecord(instance.database, collection, id);
      if (key === undefined || now === undefined || valueOf(now, 'email') !== valueOf(record, 'email'))
        return;
      // The address as stored, which may differ from the given one in case.
      const to = String(valueOf(record, 'email'));
      const account = { collection, id, kind, claims: { email: to }, key };
      const facts = async () => ({ token: await issueToken(instance, account) });
      await mailAccount(instance, mailer, { record, to, purpose, template: templateOf(collection), facts });
    });
}
