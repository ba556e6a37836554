import type { Collection } from '../collections/collection.ts';
import type { Field } from '../fields/field.ts';
import type { RecordBody } from './decode-record.ts';
import { recordShape } from './record-shape.ts';

export interface PasswordRequest {
  readonly body: RecordBody;
  readonly isSuperuser: boolean;
}

/** The password fields that a body has a value for. To all but superusers a hidden field is no field at all. */
export function givenPasswords(
  collection: Collection,
  { body, isSuperuser }: PasswordRequest,
): readonly Field[] {
  const { passwords } = recordShape(collection);
  return passwords.length === 0
    ? passwords
    : passwords.filter(({ name, hidden }) => (!hidden || isSuperuser) && Object.hasOwn(body, name));
}
