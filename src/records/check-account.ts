import { unlessBroken } from '../access/rule.ts';
import { AppError, conflicting, type FieldError } from '../base/errors.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { StoredValue } from '../fields/field-type.ts';
import { toText } from '../fields/option-reader.ts';
import { readSecret } from '../secrets/secrets.ts';
import { joinSql, sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import { boundRule, isAllowed, type RuleRequest, valuesMeetRule } from './check-rule.ts';
import type { RecordBody } from './decode-record.ts';
import { RefusedWrite, type WriteScope } from './record-write.ts';
import { StoredRecord, valueOf } from './record.ts';
import type { PreparedSecrets } from './passwords.ts';

export interface AccountWrite {
  readonly collection: Collection;
  readonly body: RecordBody;
  readonly values: readonly StoredValue[];
  readonly existing?: StoredRecord;
  readonly secrets: PreparedSecrets;
  /** The request of the rules of this write. */
  readonly ruleRequest: RuleRequest;
}

/**
 * Checks an account beyond other records, once its rule admits the write: who may verify it and change its
 * address and password. Call it for auth collections only: even an `await` of nothing would slow every write down. Throws
 * RefusedWrite; conflict when the password was changed meanwhile.
 */
export async function checkAccount(scope: WriteScope, write: AccountWrite): Promise<void> {
  const { collection, body, values, existing, secrets } = write;
  const record = new StoredRecord(collection, 1, values);
  const isManaged = await hasManageAccess(scope, write);
  const isOldPasswordRight = secrets.old?.isRight ?? false;
  const problems = accountProblems({ body, record, existing, isManaged, isOldPasswordRight });
  if (Object.keys(problems).length > 0) throw new RefusedWrite(problems);
  if (existing === undefined) await refuseForeignId(scope, write, String(valueOf(record, 'id')));
  else if (!isManaged && secrets.old !== undefined)
    await requireSamePassword(scope.tx, existing, secrets.old.hash);
}

async function hasManageAccess({ input, instance, tx }: WriteScope, write: AccountWrite): Promise<boolean> {
  const { collection, values, existing, ruleRequest } = write;
  if (input.caller.kind !== 'user') return input.caller.kind === 'superuser';
  const manageRule = collection.auth?.manageRule ?? null;
  if (manageRule === null) return false;
  return unlessBroken(instance, false, async () => {
    const rule = boundRule(ruleRequest, collection, manageRule);
    // As the create rule sees it: sending `verified` does not make the caller its manager.
    if (existing === undefined) return valuesMeetRule(tx, rule, withVerified(collection, values, 0));
    return isAllowed(tx, rule, String(valueOf(existing, 'id')));
  });
}

/** Most owner rules compare an id alone, so no two accounts may have the same id, whichever collections they are in. */
async function refuseForeignId(
  { instance, tx }: WriteScope,
  { collection, body }: AccountWrite,
  id: string,
): Promise<void> {
  // A generated id cannot be that of another account.
  if (!Object.hasOwn(body, 'id') || body['id'] === '') return;
  const others = instance.collections
    .all()
    .filter(({ type, id: other }) => type === 'auth' && other !== collection.id);
  if (others.length === 0) return;
  const each = others.map(
    ({ name }) => sql`EXISTS (SELECT 1 FROM ${tx.names.collectionTable(name)} WHERE id = ${id})`,
  );
  const rows = await tx.tuples(sql`SELECT 1 FROM (SELECT 1 AS one) AS one WHERE ${joinSql(each, ' OR ')}`);
  if (rows.length > 0) throw new RefusedWrite({ id: foreignId });
}

const foreignId: FieldError = {
  code: 'validation_invalid_auth_id',
  message: 'The id is that of another account.',
};

/** Throws conflict when the password was changed since the old one was verified, which was before the transaction began. */
async function requireSamePassword(
  tx: Transaction,
  existing: StoredRecord,
  hash: string | undefined,
): Promise<void> {
  const record = String(valueOf(existing, 'id'));
  const now = await readSecret(tx, { collection: existing.collection.id, record, name: 'password' });
  if (now !== hash) throw conflicting();
}

/** Returns the values of an account with `verified` set to this. */
export function withVerified(
  collection: Collection,
  values: readonly StoredValue[],
  verified: 0 | 1,
): readonly StoredValue[] {
  const at = collection.fields.findIndex(({ name }) => name === 'verified');
  return values.with(at, verified);
}

/** Superusers count as verified: whoever creates them knows who they are. */
export function isAlwaysVerified({ name }: Collection): boolean {
  return name === superusersName;
}

/** The input of the checks of an account's body, which run before those of its fields (http-api section 6). */
export interface AccountForm {
  readonly body: RecordBody;
  /** The account as it would be stored. */
  readonly record: StoredRecord;
  /** The account before an update; undefined while it is made. */
  readonly existing?: StoredRecord | undefined;
  /** Whether the caller is a superuser, or the manage rule is true for the caller. */
  readonly isManaged: boolean;
  /** Whether an old password was sent and is right. */
  readonly isOldPasswordRight: boolean;
}

/** Returns the problems of an account's body, by the member that has them. */
function accountProblems(form: AccountForm): Readonly<Record<string, FieldError>> {
  const { body, record, existing, isManaged } = form;
  const problems: Record<string, FieldError> = passwordProblems(form);
  if (isManaged) return problems;
  const verified = existing === undefined ? 0 : valueOf(existing, 'verified');
  if (valueOf(record, 'verified') !== verified) problems['verified'] = mismatch;
  // Otherwise anyone in front of an open session could take the account over by changing its address.
  if (existing !== undefined && Object.hasOwn(body, 'email') && isOther(record, existing, 'email'))
    problems['email'] = mismatch;
  return problems;
}

function passwordProblems(form: AccountForm): Record<string, FieldError> {
  const { body, existing, isManaged, isOldPasswordRight } = form;
  const [password, confirm, old] = ['password', 'passwordConfirm', 'oldPassword'].map((name) =>
    toText(Object.hasOwn(body, name) ? body[name] : ''),
  );
  const isGiven = password !== '' || confirm !== '';
  if (existing !== undefined && !isGiven && old === '') return {};
  const problems: Record<string, FieldError> = {};
  if (password === '') problems['password'] = fieldError('validation_required');
  if (confirm === '') problems['passwordConfirm'] = fieldError('validation_required');
  else if (confirm !== password) problems['passwordConfirm'] = mismatch;
  if (existing === undefined || isManaged || !isGiven) return problems;
  if (old === '') problems['oldPassword'] = fieldError('validation_required');
  else if (!isOldPasswordRight) problems['oldPassword'] = wrongPassword;
  return problems;
}

function isOther(record: StoredRecord, existing: StoredRecord, name: string): boolean {
  const value: StoredValue | undefined = valueOf(record, name);
  return value !== valueOf(existing, name);
}

const mismatch: FieldError = { code: 'validation_values_mismatch', message: "Values don't match." };

const wrongPassword: FieldError = {
  code: 'validation_invalid_old_password',
  message: 'Missing or invalid old password.',
};

/**
 * Throws bad_request when the superuser about to be deleted is the last one, without whom nobody could get in. Locks the rows of
 * all superusers, or two concurrent deletes could each count the other's superuser as left.
 */
export async function requireAnotherSuperuser(tx: Transaction): Promise<void> {
  const table = tx.names.collectionTable(superusersName);
  const locking = sql`SELECT id FROM ${table} ORDER BY id${tx.names.locks.forDelete}`;
  const rows = await tx.tuples(locking);
  if (rows.length <= 1) throw lastSuperuser();
}

export function lastSuperuser(): AppError {
  return new AppError('bad_request', "You can't delete the only existing superuser.");
}
