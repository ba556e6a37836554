import type { Collection, Field } from '../../api/client.ts';
import type { Field as Option } from '../../parts/form/field.ts';
import { PartViews } from '../../parts/form/form-view.tsx';
import { useBoundForm } from '../../parts/form/use-bound-form.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import type { DraftHandle } from './definition-draft.ts';
import { ownOptions } from './field-types.ts';
import { isUniqueOn, withUnique } from '../../parts/unique-index.ts';

export interface FieldOptionsProps {
  readonly field: Field;
  /** As it is stored; undefined for a new one. */
  readonly base: Field | undefined;
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  /** What is wrong, by the name of the option; with the whole field under the empty name. */
  readonly errors: ReadonlyMap<string, string>;
}

/** The options of a field, in its place in the list. */
export function FieldOptions({ field, base, draft, collections, errors }: FieldOptionsProps) {
  const own = ownOptions(field.type).map((option) =>
    option.path === 'collectionId'
      ? withCollections(option, { isNew: base === undefined, collection: draft.next, collections })
      : option,
  );
  const isUnique = isUniqueOn(draft.next, field.name);
  const flags = flagsOf(field);
  const help = 'help' in field ? [helpOption] : [];
  const form = useBoundForm({
    parts: [...own, ...flags, ...help],
    values: { ...field, unique: isUnique },
    prefix: `${field.id}-`,
    errors: new Map([...errors].filter(([option]) => option !== 'name' && option !== '')),
    onChange: ({ unique, ...next }) => {
      if (unique === isUnique) draft.changeField(next);
      else draft.change({ indexes: withUnique(draft.next, field.name, unique) });
    },
  });
  return (
    <div className="schema-options">
      <div className="schema-grid">
        <PartViews form={form} parts={own} />
      </div>
      <div className="schema-flags">
        <PartViews form={form} parts={flags} />
      </div>
      <PartViews form={form} parts={help} />
      {form.failure !== undefined && <FailureNotice error={form.failure} />}
    </div>
  );
}

const helpOption: Option = {
  kind: 'text',
  path: 'help',
  label: 'Help',
  help: 'Shown below the field in forms.',
};

/** The options of every type. */
function flagsOf(field: Field): readonly Option[] {
  const hasColumn = field.type !== 'password' && field.name !== 'tokenKey' && field.name !== 'id';
  return [
    {
      kind: 'switch',
      path: 'required',
      label: 'Required',
      help: field.type === 'bool' ? 'Must be true.' : 'Cannot be blank.',
      isLocked: field.type === 'text' && field.primaryKey,
      when: () => 'required' in field,
    },
    {
      kind: 'switch',
      path: 'unique',
      label: 'Unique',
      help: 'Unique: no two records may have the same value. Creates an index.',
      when: () => hasColumn,
    },
    {
      kind: 'switch',
      path: 'presentable',
      label: 'Presentable',
      help: 'Used as the record’s title.',
    },
    { kind: 'switch', path: 'hidden', label: 'Hidden', help: 'Visible to superusers only.' },
  ];
}

interface Target {
  readonly isNew: boolean;
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

/** The option of a relation that names its collection. */
function withCollections(option: Option, { isNew, collection, collections }: Target): Option {
  if (option.kind !== 'choice') return option;
  const others = collections.filter(({ id }) => id !== collection.id);
  return {
    ...option,
    isLocked: !isNew,
    ...(!isNew && { help: 'Can’t be changed: stored ids belong to this collection.' }),
    choices: [
      { value: collection.id, label: 'This collection' },
      ...others.map(({ id, name }) => ({ value: id, label: name })),
    ],
  };
}
