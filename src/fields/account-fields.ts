import { ownField, type Field } from './field.ts';

/** Returns the fields of every auth collection, with the options that a definition need not set (http-api section 9). */
export function accountFields(): readonly Field[] {
  return [
    ownField({ name: 'password', type: 'password', system: true, hidden: true, required: true, min: 8 }),
    ownField({
      name: 'tokenKey',
      type: 'text',
      system: true,
      hidden: true,
      required: true,
      min: 30,
      max: 60,
      autogeneratePattern: '[a-zA-Z0-9]{50}',
    }),
    ownField({ name: 'email', type: 'email', system: true, required: true }),
    ownField({ name: 'emailVisibility', type: 'bool', system: true }),
    ownField({ name: 'verified', type: 'bool', system: true }),
  ];
}
