import { assert } from '../base/assert.ts';
import { autodateField } from './autodate-field.ts';
import { boolField } from './bool-field.ts';
import { dateField } from './date-field.ts';
import { emailField } from './email-field.ts';
import { editorField } from './editor-field.ts';
import type { FieldOptions, FieldType, FieldTypeName } from './field-type.ts';
import { fileField } from './file-field.ts';
import { geoPointField } from './geo-point-field.ts';
import { jsonField } from './json-field.ts';
import { numberField } from './number-field.ts';
import { passwordField } from './password-field.ts';
import { relationField } from './relation-field.ts';
import { selectField } from './select-field.ts';
import { textField } from './text-field.ts';
import { urlField } from './url-field.ts';

/** Every type by its name. A Map, because in an object `constructor` would be a known name. */
export const fieldTypes: ReadonlyMap<string, FieldType> = new Map(
  [
    general(textField),
    general(numberField),
    general(boolField),
    general(emailField),
    general(urlField),
    general(editorField),
    general(dateField),
    general(autodateField),
    general(selectField),
    general(fileField),
    general(relationField),
    general(jsonField),
    general(geoPointField),
    general(passwordField),
  ].map((fieldType) => [fieldType.type, fieldType]),
);

/** Returns the type of a field. */
export function fieldType(field: { readonly type: FieldTypeName }): FieldType {
  const type = fieldTypes.get(field.type);
  assert(type !== undefined, `no field type is named ${field.type}`);
  return type;
}

function general<Options extends FieldOptions>(fieldType: FieldType<Options>): FieldType {
  // A type only receives options that its own decodeOptions made: a field holds both together.
  return fieldType as unknown as FieldType;
}
