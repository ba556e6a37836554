import type { FieldError } from '../../base/errors.ts';
import { fieldError } from '../../fields/field-error.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import { toText } from '../../fields/to-text.ts';
import type { RecordBody } from '../decode-record.ts';
import { valueOf, type StoredRecord } from '../record.ts';

/** What the checks of an account's body need, which come before those of its fields (http-api section 6). */
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
export function accountProblems(form: AccountForm): Readonly<Record<string, FieldError>> {
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
