import type { RuleInput } from '../access/rule-input.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import { ownMember } from '../base/json.ts';
import type { EmailTemplate, TokenKind } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import { toText } from '../fields/option-reader.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecord, findRecordToChange } from '../records/find-record.ts';
import type { WriteScope } from '../records/record-write.ts';
import { type StoredRecord, valueOf } from '../records/record.ts';
import { decodeToken } from '../secrets/token.ts';
import { mailAccount } from './account-mail.ts';
import { refuseForm, type WorkAfterAnswer } from './account-request.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { findByIdentity } from './sign-in.ts';
import { findTokenKey, issueToken, verifyRecordToken } from './tokens.ts';

/** A token that came by mail and was valid for its account when it was read. */
export interface MailedToken {
  readonly collection: AuthCollection;
  readonly kind: TokenKind;
  readonly text: string;
  /** Id of the account. */
  readonly id: string;
  readonly claim: (name: string) => string;
}

export interface MailedTokenOptions {
  readonly collection: AuthCollection;
  readonly kind: TokenKind;
  /** Texts that the token must claim besides, each with the problem to report when it is missing. */
  readonly claims: readonly { readonly name: string; readonly problem: FieldError }[];
  /** What is wrong with the other members of the form: it is reported together with the token. */
  readonly problems?: Readonly<Record<string, FieldError | undefined>>;
}

/** Reads and verifies a token that came by mail. Throws bad_request with the problems of the form. */
export async function readMailedToken(
  instance: Instance,
  text: string,
  options: MailedTokenOptions,
): Promise<MailedToken> {
  const token = await verifyMailedToken(instance, text, options);
  if ('code' in token) return refuseToken(token, options.problems);
  refuseForm(options.problems ?? {});
  return token;
}

/** Returns the token, or its problem. */
async function verifyMailedToken(
  instance: Instance,
  text: string,
  { collection, kind, claims }: MailedTokenOptions,
): Promise<MailedToken | FieldError> {
  if (text === '') return fieldError('validation_required');
  const unverified = decodeToken(text);
  if (unverified === undefined) return invalidToken;
  for (const { name, problem } of claims) if (typeof ownMember(unverified, name) !== 'string') return problem;
  const verified = await verifyRecordToken(instance, text, { kind });
  if (verified === undefined) return invalidToken;
  if (verified.collection.id !== collection.id) return otherCollection;
  const claim = (name: string): string => toText(ownMember(verified.claims, name));
  return { collection, kind, text, id: verified.id, claim };
}

/**
 * Uses a token in one transaction with `work`. The token is verified again behind the lock of its account: if `work` changes the
 * account's token key, the first of several concurrent uses makes the token invalid for the others.
 */
export function useMailedToken(
  instance: Instance,
  { input, token }: { readonly input: RuleInput; readonly token: MailedToken },
  work: (scope: WriteScope, existing: StoredRecord) => Promise<unknown>,
): Promise<void> {
  return instance.database.write(async (tx) => {
    const collection = instance.collections.get(token.collection.id);
    const existing = await findRecordToChange(tx, collection, token.id);
    const { kind, text } = token;
    const verified = await verifyRecordToken(instance, text, { kind, reader: tx });
    if (existing === undefined || verified === undefined) refuseToken(invalidToken);
    await work({ instance, input, tx }, existing);
  });
}

export function refuseToken(problem: FieldError, others: MailedTokenOptions['problems'] = {}): never {
  refuseForm({ ...others, token: problem });
  throw new AppError('bad_request', problem.message);
}

const invalidToken: FieldError = {
  code: 'validation_invalid_token',
  message: 'The token is invalid or has expired.',
};

const otherCollection: FieldError = {
  code: 'validation_token_collection_mismatch',
  message: 'The token is for an account of another collection.',
};

export interface TokenMail {
  /** Id of the collection. */
  readonly collection: string;
  readonly purpose: string;
  readonly kind: TokenKind;
  readonly templateOf: (collection: AuthCollection) => EmailTemplate;
  /** Whether this account gets a mail at all. */
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
      // The address as stored, which may differ in case from the one sent.
      const to = String(valueOf(record, 'email'));
      const account = { collection, id, kind, claims: { email: to }, key };
      const values = async () => ({ token: await issueToken(instance, account) });
      await mailAccount(instance, mailer, { record, to, purpose, template: templateOf(collection), values });
    });
}
