import type { Collection } from '../../collections/collection.ts';
import type { Field } from '../../fields/field.ts';
import type { RecordBody } from '../decode-record.ts';
import { mayWriteField } from '../may-write-field.ts';
import { recordShape } from '../record-shape.ts';

export interface PasswordRequest {
  readonly body: RecordBody;
  readonly isSuperuser: boolean;
}

/** The password fields that a body has a value for. */
export function givenPasswords(
  collection: Collection,
  { body, isSuperuser }: PasswordRequest,
): readonly Field[] {
  const { passwords } = recordShape(collection);
  return passwords.length === 0
    ? passwords
    : passwords.filter((field) => mayWriteField(field, isSuperuser) && Object.hasOwn(body, field.name));
}
