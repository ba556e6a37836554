import { isJsonObject, ownMember } from '../base/json.ts';
import { accountFields } from '../fields/account-fields.ts';
import type { Field } from '../fields/field.ts';
import type { ProblemList } from './problem-list.ts';

const standard: ReadonlyMap<string, Field> = new Map(
  accountFields().map((field) => [field.name.toLowerCase(), field]),
);

/** Members of the body of an account that are no fields. */
const bodyNames: ReadonlySet<string> = new Set(['passwordconfirm', 'oldpassword']);

/** The definition of a field as it is going to be read: an account without a password is none. */
export function accountDefinition(raw: unknown): unknown {
  return memberOf(raw, 'name') === 'password' ? Object.assign({}, raw, { required: true }) : raw;
}

/**
 * A field of an auth collection as it is kept, or undefined when it is none that accounts need. What they cannot do without is
 * so whatever a definition leaves out: hidden, and token keys as we make them.
 */
export function accountField(field: Field): Field | undefined {
  const own = standard.get(field.name.toLowerCase());
  if (own === undefined) return undefined;
  if (own.name === 'tokenKey') return { ...own, id: field.id };
  return { ...field, system: true, hidden: field.hidden || own.hidden };
}

/** `raw` is the definition that the field was read from. */
export function checkAccountField(field: Field, raw: unknown, problems: ProblemList): void {
  const name = field.name.toLowerCase();
  const own = standard.get(name);
  if (bodyNames.has(name) || (own !== undefined && own.name !== field.name)) {
    problems.add('name', {
      code: 'validation_reserved_field_name',
      message: `The name ${JSON.stringify(field.name)} is reserved in auth collections.`,
    });
  }
  if (own === undefined) return;
  if (own.type !== field.type) {
    problems.add('type', {
      code: `validation_missing_${own.name}_field`,
      message: `The field ${JSON.stringify(own.name)} of an auth collection is of type ${own.type}.`,
    });
  }
  // Left out they are true; said to be false they would be something else than what they are.
  const said = (member: string): unknown => memberOf(raw, member);
  if (own.hidden && (said('hidden') === false || said('system') === false)) {
    problems.add(said('hidden') === false ? 'hidden' : 'system', {
      code: 'validation_must_be_system_and_hidden',
      message: `The field ${JSON.stringify(own.name)} must be system and hidden.`,
    });
  } else if (said('system') === false) {
    problems.add('system', {
      code: 'validation_must_be_system',
      message: `The field ${JSON.stringify(own.name)} must be system.`,
    });
  }
}

/** Those that are missing come behind `id`, in their order. */
export function withAccountFields(fields: readonly Field[]): readonly Field[] {
  const missing = accountFields().filter((own) => !fields.some(({ name }) => name === own.name));
  if (missing.length === 0) return fields;
  const at = fields.findIndex(({ name }) => name === 'id') + 1;
  return [...fields.slice(0, at), ...missing, ...fields.slice(at)];
}

function memberOf(raw: unknown, member: string): unknown {
  return isJsonObject(raw) ? ownMember(raw, member) : undefined;
}
