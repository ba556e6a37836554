import * as Popover from '@radix-ui/react-popover';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { type Collection, Failure, type Field, type RecordModel } from '../../api/client.ts';
import { getRecord, recordQuery, type RevisedRecord, updateRecord } from '../../api/records.ts';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { isFixed } from './cell-value.tsx';
import { ConflictNotice } from './conflict-notice.tsx';
import { FieldEditor } from './field-editor.tsx';
import { showChange } from './live-rows.ts';
import { DraftError, editedValue, toChanges } from './record-draft.ts';
import { offerUndoOfEdit } from './undo.ts';

interface CellEditorProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly record: RecordModel;
  readonly field: Field;
  /** What was typed on the cell, in place of its value. */
  readonly text: string | undefined;
  readonly anchorOf: () => HTMLElement | null;
  /** For what a cell has no room for. */
  readonly onOpen: () => void;
  /** It was saved with Enter alone, or Tab: the next cell is there. */
  readonly onNext: (step: 'down' | 'right' | 'left') => void;
  readonly onClose: () => void;
}

/** One value, changed where it stands. Enter, Tab or ⌘Enter saves it, Esc leaves it as it was; what the service refuses is told here. */
export function CellEditor(props: CellEditorProps) {
  const { collections, record, field, text, anchorOf, onNext, onClose } = props;
  const id = useId();
  const [anchor] = useState(() => ({ current: anchorOf() ?? document.body }));
  const [width] = useState(() => anchorOf()?.offsetWidth ?? 0);
  const [value, setValue] = useState<unknown>(() => text ?? editedValue(field, record));
  const saving = useSaving(props, value);
  const isElsewhere = isFixed(field) || field.type === 'file';
  useElsewhere(props, isElsewhere);
  if (isElsewhere) return null;
  const press = (event: KeyboardEvent): void => {
    const hasMod = event.metaKey || event.ctrlKey;
    const isTab = event.key === 'Tab' && isTyped(field, event);
    if (!isTab && (event.key !== 'Enter' || (!hasMod && !isOneLine(field, event)))) return;
    event.preventDefault();
    const step = isTab ? (event.shiftKey ? 'left' : 'right') : hasMod ? undefined : 'down';
    void saving.save().then((isSaved) => isSaved && step !== undefined && onNext(step));
  };
  return (
    <Popover.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Popover.Anchor virtualRef={anchor} />
      <Popover.Portal>
        <Popover.Content
          className="floating cell-editor"
          align="start"
          side="bottom"
          sideOffset={-30}
          collisionPadding={8}
          aria-label={`${field.name} of ${record.id}`}
          style={{ minInlineSize: Math.max(280, width) }}
          onOpenAutoFocus={(event) => {
            if (text === undefined) return;
            // Behind what was typed, as more of it follows. An address has no range to set: there the caret is at its end.
            event.preventDefault();
            const input = document.getElementById(id);
            input?.focus();
            const isLong = input instanceof HTMLTextAreaElement;
            if (isLong || (input instanceof HTMLInputElement && input.selectionStart !== null))
              input.setSelectionRange(text.length, text.length);
          }}
          onKeyDown={press}
          onCloseAutoFocus={(event) => event.preventDefault()}
        >
          <FieldEditor
            id={id}
            field={field}
            record={record}
            collections={collections}
            value={value}
            error={saving.message}
            onChange={(next) => setValue(next)}
          />
          <Refusal {...props} saving={saving} value={value} />
          <div className="cell-editor-foot">
            <Button tone="quiet" onClick={onClose}>
              Cancel <Key keys="esc" />
            </Button>
            <Button
              tone="primary"
              disabled={saving.isBusy || saving.conflict !== undefined}
              onClick={() => void saving.save()}
            >
              Save <Key keys="Mod↵" />
            </Button>
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

interface RefusalProps extends CellEditorProps {
  readonly saving: ReturnType<typeof useSaving>;
  readonly value: unknown;
}

/** Why nothing was saved, where that is not said at the value itself. */
function Refusal({ collection, field, saving, value }: RefusalProps) {
  const { conflict, error, message } = saving;
  return (
    <>
      {conflict !== undefined && (
        <ConflictNotice
          collection={collection}
          values={{ [field.name]: value }}
          theirs={conflict.record}
          onMine={saving.keepMine}
          onTheirs={saving.takeTheirs}
        />
      )}
      {error !== undefined && message === undefined && <FailureNotice error={error} />}
    </>
  );
}

/** Whether Enter alone saves: not where it begins a line, nor for a relation, which is chosen with it in a list of its own. */
function isOneLine({ type }: Field, { target, shiftKey }: KeyboardEvent): boolean {
  const isLine = target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
  return isLine && !shiftKey && type !== 'editor' && type !== 'json' && type !== 'relation';
}

/** Whether Tab saves and goes on: where the value is one input, which has nothing of its own to go to. */
function isTyped({ type }: Field, { target }: KeyboardEvent): boolean {
  const isInput = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  return isInput && (type === 'text' || type === 'number' || type === 'email' || type === 'url');
}

/** Files need room, and fixed values cannot be changed: the drawer shows both. */
function useElsewhere({ onOpen, onClose }: CellEditorProps, isElsewhere: boolean): void {
  const done = useRef(false);
  useEffect(() => {
    if (!isElsewhere || done.current) return;
    done.current = true;
    onClose();
    onOpen();
  }, [isElsewhere, onClose, onOpen]);
}

/** Saves the value if the record is still what its row showed. Where somebody else was first, it gets what they have made of the record. */
function useSaving({ collection, record, field, onClose }: CellEditorProps, value: unknown) {
  const queries = useQueryClient();
  // The row goes on changing below the editor: what counts is what one saw when one began.
  const [seen, setSeen] = useState(record);
  const [error, setError] = useState<unknown>();
  const [conflict, setConflict] = useState<RevisedRecord>();
  const [isBusy, setIsBusy] = useState(false);
  const show = (saved: RevisedRecord): void => {
    queries.setQueryData(recordQuery(collection.name, record.id).queryKey, saved);
    showChange(queries, collection.name, saved.record);
  };
  const attempt = async (): Promise<boolean> => {
    const changes = toChanges(collection, { [field.name]: value }, false);
    // Rows of a list have no revision.
    const current = await getRecord(collection.name, record.id);
    if (!isSame(collection, current.record, seen)) {
      setConflict(current);
      return false;
    }
    const saved = await updateRecord(
      { collection: collection.name, id: record.id, etag: current.etag },
      changes,
    );
    show(saved);
    onClose();
    offerUndoOfEdit(queries, { collection, before: current, after: saved, changes });
    return true;
  };
  const save = async (): Promise<boolean> => {
    if (isBusy || conflict !== undefined) return false;
    setIsBusy(true);
    setError(undefined);
    try {
      return await attempt();
    } catch (failure) {
      if (!(failure instanceof Failure && failure.status === 412)) setError(failure);
      else await getRecord(collection.name, record.id).then(setConflict, setError);
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const message =
    error instanceof DraftError
      ? error.message
      : error instanceof Failure
        ? error.fields.get(field.name)
        : undefined;
  return {
    error,
    message,
    conflict,
    isBusy,
    save,
    /** The next save writes over what the others have saved. */
    keepMine: () => {
      if (conflict === undefined) return;
      show(conflict);
      setSeen(conflict.record);
      setConflict(undefined);
    },
    takeTheirs: () => {
      if (conflict !== undefined) show(conflict);
      onClose();
    },
  };
}

/** Whether two answers tell the same of a record. One of them may leave out fields. */
function isSame({ fields }: Collection, one: RecordModel, other: RecordModel): boolean {
  return fields.every(
    ({ name }) =>
      !(name in one && name in other) || JSON.stringify(one[name]) === JSON.stringify(other[name]),
  );
}
