import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { type Collection, Failure, type Field, type RecordModel } from '../../api/client.ts';
import { createRecord, getRecord, recordQuery, type RevisedRecord, updateRecord } from '../../api/records.ts';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { ConflictNotice } from './conflict-notice.tsx';
import { FieldEditor } from './field-editor.tsx';
import { refreshRecords, showChange } from './live-rows.ts';
import { offerUndoOfEdit } from './undo.ts';
import { type Draft, DraftError, editedValue, toChanges, useDraft } from './record-draft.ts';

interface RecordFormProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly record: RecordModel | undefined;
  readonly etag: string;
  readonly onOpen: (id: string) => void;
}

/** The fields of a record to change, with what the service says of each beside it. */
export function RecordForm({ collection, collections, record, etag, onOpen }: RecordFormProps) {
  const id = useId();
  const draft = useDraft(collection, record?.id, etag);
  const saving = useSaving({ collection, record, draft, onOpen });
  const { error, conflict, isBusy, save } = saving;
  useKeys({
    'Mod+enter': () => void save(),
    'Mod+s': (event) => {
      event.preventDefault();
      void save();
    },
  });
  const fields = editedFields(collection, record === undefined);
  const messages = messagesOf(error);
  const named = fields.filter(({ name }) => messages.has(name));
  const form = useFocusOnNew(record === undefined);
  return (
    <>
      <form
        className="drawer-body"
        id={id}
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <div className="drawer-form">
          {conflict !== undefined && (
            <ConflictNotice
              collection={collection}
              values={draft.values}
              theirs={conflict.record}
              onMine={saving.keepMine}
              onTheirs={saving.takeTheirs}
            />
          )}
          {error !== undefined && conflict === undefined && named.length === 0 && (
            <FailureNotice error={error} />
          )}
          {fields.map((field) => {
            const original = editedValue(field, record);
            return (
              <FieldEditor
                key={field.id}
                id={`${id}-${field.name}`}
                field={field}
                record={record}
                collections={collections}
                value={draft.values[field.name] ?? original}
                error={messages.get(field.name)}
                onChange={(value) => draft.set(field.name, isSame(value, original) ? undefined : value)}
              />
            );
          })}
        </div>
      </form>
      {(draft.count > 0 || record === undefined) && (
        <FormFoot
          form={id}
          draft={draft}
          isNew={record === undefined}
          isBusy={isBusy}
          onDiscard={saving.discard}
        />
      )}
    </>
  );
}

/** A new record is to be filled in, so the first field gets the focus; an open one is looked at, and the table keeps it. */
function useFocusOnNew(isNew: boolean) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const controls = form.current?.querySelectorAll<HTMLElement>('input, textarea, select, .editor') ?? [];
    // The id comes first, and hardly anybody chooses one.
    if (isNew) [...controls].find((control) => !control.id.endsWith('-id'))?.focus();
  }, [isNew]);
  return form;
}

interface FormFootProps {
  readonly form: string;
  readonly draft: Draft;
  readonly isNew: boolean;
  readonly isBusy: boolean;
  readonly onDiscard: () => void;
}

function FormFoot({ form, draft, isNew, isBusy, onDiscard }: FormFootProps) {
  return (
    <footer className="drawer-foot">
      <span className="drawer-foot-note cut">
        {draft.count > 0 && `${plural(draft.count, 'change')}, not saved`}
      </span>
      {draft.count > 0 && (
        <Button tone="quiet" onClick={onDiscard}>
          Discard
        </Button>
      )}
      <Button type="submit" form={form} tone="primary" disabled={isBusy}>
        {isNew ? 'Create' : 'Save'} <Key keys="Mod↵" />
      </Button>
    </footer>
  );
}

/** Fields that somebody can fill in; of an existing record also those that the service fills in, to be read. */
function editedFields({ fields }: Collection, isNew: boolean): readonly Field[] {
  return fields.filter(({ type, name, system }) => {
    if (name === 'tokenKey' && system) return false;
    return !isNew || type !== 'autodate';
  });
}

function isSame(value: unknown, original: unknown): boolean {
  if (isNothing(value) && isNothing(original)) return true;
  return JSON.stringify(value) === JSON.stringify(original);
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === '' || value === null || value === false;
}

function messagesOf(error: unknown): ReadonlyMap<string, string> {
  if (error instanceof DraftError) return new Map([[error.field, error.message]]);
  return error instanceof Failure ? error.fields : new Map();
}

interface Saving {
  readonly collection: Collection;
  readonly record: RecordModel | undefined;
  readonly draft: Draft;
  readonly onOpen: (id: string) => void;
}

/** Saves a draft, one attempt at a time. Where somebody else was first, it gets what they have made of the record. */
function useSaving({ collection, record, draft, onOpen }: Saving) {
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<RevisedRecord>();
  const [isBusy, setIsBusy] = useState(false);
  const { name } = collection;
  const show = (saved: RevisedRecord): void => {
    queries.setQueryData(recordQuery(name, saved.record.id).queryKey, saved);
    showChange(queries, name, saved.record);
  };
  const attempt = async (): Promise<void> => {
    const changes = toChanges(collection, draft.values, record === undefined);
    if (record === undefined) {
      const made = await createRecord(name, changes);
      draft.clear();
      showToast(`${made.record.id} created.`);
      await refreshRecords(queries, name);
      onOpen(made.record.id);
      return;
    }
    const saved = await updateRecord({ collection: name, id: record.id, etag: draft.etag }, changes);
    show(saved);
    draft.clear();
    // The revision was required, so the record was what is shown here.
    const before = { record, etag: draft.etag };
    offerUndoOfEdit(queries, { collection, before, after: saved, changes });
  };
  const save = async (): Promise<void> => {
    if (isBusy || (draft.count === 0 && record !== undefined)) return;
    setIsBusy(true);
    setError(undefined);
    try {
      await attempt();
    } catch (failure) {
      setError(failure);
      if (record !== undefined && failure instanceof Failure && failure.status === 412)
        setConflict(await getRecord(name, record.id));
    } finally {
      setIsBusy(false);
    }
  };
  const end = (): void => {
    setConflict(undefined);
    setError(undefined);
  };
  return {
    error,
    conflict,
    isBusy,
    save,
    discard: () => {
      draft.clear();
      end();
    },
    /** The draft goes on from what the others have saved: the next save writes over it. */
    keepMine: () => {
      if (conflict === undefined) return;
      draft.rebase(conflict.etag);
      show(conflict);
      end();
    },
    takeTheirs: () => {
      if (conflict !== undefined) show(conflict);
      draft.clear();
      end();
    },
  };
}
