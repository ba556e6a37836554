import { useQueryClient } from '@tanstack/react-query';
import Lock from 'lucide-react/icons/lock';
import { useEffect, useId, useRef } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { unlockRecords, useMayEdit } from '../../parts/lock.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { FieldControl } from './field-control.tsx';
import { formatValue } from './field-values.ts';
import { refreshRecords } from './live-rows.ts';
import { type Draft, useDraft } from './record-draft.ts';
import { SavingNotice } from './saving-notice.tsx';
import { useSaving } from './use-saving.ts';

interface RecordFormProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly record: RecordModel | undefined;
  readonly onOpen: (id: string) => void;
}

/** The fields of a record to change, with what the service says of each beside it. */
export function RecordForm({ collection, collections, record, onOpen }: RecordFormProps) {
  const id = useId();
  const isNew = record === undefined;
  const mayEdit = useMayEdit(collection);
  const draft = useDraft(collection, record);
  const saving = useDraftSaving({ collection, record, draft, onOpen });
  const save = (): void => {
    if (isNew || (draft.count > 0 && mayEdit)) void saving.save();
  };
  useKeys({
    'Mod+enter': save,
    'Mod+s': (event) => {
      event.preventDefault();
      save();
    },
  });
  const fields = editedFields(collection, isNew);
  const names = fields.map(({ name }) => name);
  const form = useFocusOnNew(isNew);
  return (
    <>
      <form
        className="drawer-body"
        id={id}
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <div className="drawer-form">
          <SavingNotice collection={collection} saving={saving} values={draft.values} shown={names} />
          {fields.map((field) => {
            const original = formatValue(field, record);
            return (
              <FieldControl
                key={field.id}
                id={`${id}-${field.name}`}
                field={field}
                record={record}
                collections={collections}
                value={draft.values[field.name] ?? original}
                error={saving.messages.get(field.name)}
                onChange={(value) => draft.set(field.name, isSame(value, original) ? undefined : value)}
              />
            );
          })}
        </div>
      </form>
      {(draft.count > 0 || isNew) && (
        <footer className="drawer-foot">
          <span className="drawer-foot-note cut">
            {draft.count > 0 && `${plural(draft.count, 'change')}, not saved`}
          </span>
          {draft.count > 0 && (
            <Button tone="quiet" onClick={saving.discard}>
              Discard
            </Button>
          )}
          <SaveButton form={id} collection={collection} isNew={isNew} isBusy={saving.isBusy} />
        </footer>
      )}
    </>
  );
}

interface SaveButtonProps extends Pick<RecordFormProps, 'collection'> {
  readonly form: string;
  readonly isNew: boolean;
  readonly isBusy: boolean;
}

/** Saves the form, or unlocks it first. They are two buttons: the click that unlocks must not become one that saves. */
function SaveButton({ form, collection, isNew, isBusy }: SaveButtonProps) {
  const mayEdit = useMayEdit(collection);
  if (!isNew && !mayEdit)
    return (
      <Button key="unlock" icon={Lock} onClick={unlockRecords}>
        Unlock to save
      </Button>
    );
  return (
    <Button key="save" type="submit" form={form} tone="primary" disabled={isBusy}>
      {isNew ? 'Create' : 'Save'} <Key keys="Mod↵" />
    </Button>
  );
}

interface DraftSavingOptions extends Pick<RecordFormProps, 'collection' | 'record' | 'onOpen'> {
  readonly draft: Draft;
}

function useDraftSaving({ collection, record, draft, onOpen }: DraftSavingOptions) {
  const queries = useQueryClient();
  const saving = useSaving({
    collection,
    id: record?.id,
    values: draft.values,
    before: draft.before,
    onSaved: (saved) => {
      draft.clear();
      if (record !== undefined) return;
      showToast(`${saved.record.id} created.`);
      void refreshRecords(queries, collection.name).then(() => onOpen(saved.record.id));
    },
    onKeep: draft.rebase,
    onDrop: draft.drop,
  });
  const discard = (): void => {
    draft.clear();
    saving.clear();
  };
  return { ...saving, discard };
}

/** A new record is to be filled in, so the first field gets the focus; an open one is looked at, and the table keeps it. */
function useFocusOnNew(isNew: boolean) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const controls = form.current?.querySelectorAll<HTMLElement>('input, textarea, .combobox, .editor') ?? [];
    // The id comes first, and hardly anybody chooses one.
    if (isNew) [...controls].find((control) => !control.id.endsWith('-id'))?.focus();
  }, [isNew]);
  return form;
}

/** Fields that somebody can fill in; of an existing record also those that the service fills in, to be read. */
function editedFields({ fields }: Collection, isNew: boolean): readonly Field[] {
  return fields.filter(({ type, name, system }) => {
    if (name === 'tokenKey' && system) return false;
    return !isNew || type !== 'autodate';
  });
}

function isSame(value: unknown, original: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(original);
}
