import * as Popover from '@radix-ui/react-popover';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { type Collection, Failure, type Field, type RecordModel } from '../../api/client.ts';
import { recordQuery, updateRecord } from '../../api/records.ts';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { FieldEditor } from './field-editor.tsx';
import { showChange } from './live-rows.ts';
import { DraftError, editedValue, toChanges } from './record-draft.ts';

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
  /** It was saved with Enter alone: the next cell is below. */
  readonly onNext: () => void;
  readonly onClose: () => void;
}

/** One value, changed where it stands. Enter or ⌘Enter saves it, Esc leaves it as it was; what the service refuses is told here. */
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
    const isLine =
      event.target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    const isLong = field.type === 'editor' || field.type === 'json';
    // A relation is chosen with Enter in a list of its own.
    const isPlain = isLine && !isLong && field.type !== 'relation' && !event.shiftKey;
    if (event.key !== 'Enter' || (!hasMod && !isPlain)) return;
    event.preventDefault();
    void saving.save().then((isSaved) => isSaved && !hasMod && onNext());
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
            const input = document.getElementById(id);
            if (text === undefined || !(input instanceof HTMLInputElement)) return;
            // Behind what was typed, as more of it follows.
            event.preventDefault();
            input.focus();
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
          {saving.error !== undefined && saving.message === undefined && (
            <FailureNotice error={saving.error} />
          )}
          <div className="cell-editor-foot">
            <Button tone="quiet" onClick={onClose}>
              Cancel <Key keys="esc" />
            </Button>
            <Button tone="primary" disabled={saving.isBusy} onClick={() => void saving.save()}>
              Save <Key keys="Mod↵" />
            </Button>
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** The id, and what the service fills in. */
function isFixed(field: Field): boolean {
  return field.type === 'autodate' || ('primaryKey' in field && field.primaryKey);
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

function useSaving({ collection, record, field, onClose }: CellEditorProps, value: unknown) {
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const save = async (): Promise<boolean> => {
    if (isBusy) return false;
    setIsBusy(true);
    try {
      const changes = toChanges(collection, { [field.name]: value }, false);
      const place = { collection: collection.name, id: record.id, etag: undefined };
      const saved = await updateRecord(place, changes);
      queries.setQueryData(recordQuery(collection.name, record.id).queryKey, saved);
      showChange(queries, collection.name, saved.record);
      onClose();
      return true;
    } catch (failure) {
      setError(failure);
      setIsBusy(false);
      return false;
    }
  };
  const message =
    error instanceof DraftError
      ? error.message
      : error instanceof Failure
        ? error.fields.get(field.name)
        : undefined;
  return { error, message, isBusy, save };
}
