import { keyScopes } from '../api/keys.ts';
import type { Schemas } from '../api/schema.ts';
import { Code } from './code.tsx';
import type { Choice, Part, Values } from './form/field.ts';
import type { Form } from './form/use-form.ts';
import { Notice } from './notice.tsx';

interface KeyBindings {
  /** The collections and the endpoints that a key can be bound to. */
  readonly collections?: readonly Choice[];
  readonly endpoints?: readonly Choice[];
}

/** The form of a new API key. */
export function keyParts({ collections = [], endpoints = [] }: KeyBindings = {}): readonly Part[] {
  return [
    {
      path: 'name',
      kind: 'text',
      id: 'key-name',
      label: 'Name',
      help: 'The program that uses it.',
      hasFocus: true,
    },
    {
      path: 'scopes',
      kind: 'set',
      id: 'key-scopes',
      label: 'What it may do',
      choices: keyScopes.map(({ scope, text }) => ({ value: scope, label: scope, help: text })),
    },
    {
      path: 'collections',
      kind: 'set',
      label: 'Only of these collections',
      choices: collections,
      help: 'Empty: records of all collections.',
      when: (form) => collections.length > 0 && isOnlyOf(form, 'records:'),
    },
    {
      path: 'endpoints',
      kind: 'set',
      label: 'Only for these endpoints',
      choices: endpoints,
      help: 'None selected: all endpoints. Otherwise the key sees and manages only these: a portal for a customer.',
      when: (form) => endpoints.length > 0 && isOnlyOf(form, 'webhooks:'),
    },
    { path: 'expires', kind: 'date', id: 'key-expires', label: 'Expires', help: 'Empty: never.' },
  ];
}

/** What a new key begins with. */
export const blankKey = { name: '', scopes: [], collections: [], endpoints: [], expires: '' } as const;

/** Only a key of records can be bound to collections, and only one of webhooks to endpoints. */
function isOnlyOf(form: Form, prefix: string): boolean {
  const scopes: unknown = form.value('scopes');
  return Array.isArray(scopes) && scopes.length > 0 && scopes.every((one) => String(one).startsWith(prefix));
}

/** Returns the key as the API has it: one that is bound to nothing reaches everything. */
export function toKey(values: Values): Schemas['ApiKeyCreate'] {
  const bound = Object.entries(values).map(([name, value]) => {
    const isBinding = name === 'collections' || name === 'endpoints';
    return [name, isBinding && Array.isArray(value) && value.length === 0 ? null : value] as const;
  });
  // The fields of the form above are the members of a key.
  return Object.fromEntries(bound) as unknown as Schemas['ApiKeyCreate'];
}

/** A key at the only moment at which it shows. */
export function KeyOnce({ text }: { readonly text: string }) {
  return (
    <>
      <Notice tone="retrying">Copy it now. You won’t see it again.</Notice>
      <Code text={text} />
    </>
  );
}
