import * as Popover from '@radix-ui/react-popover';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { isFixed } from './cell-value.tsx';
import { FieldControl } from './field-control.tsx';
import { formatValue } from './field-values.ts';
import type { DraftValues } from './record-draft.ts';
import { SavingNotice } from './saving-notice.tsx';
import { useSaving } from './use-saving.ts';

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
  const { collection, collections, record, field, text, anchorOf, onNext, onClose } = props;
  const id = useId();
  const [anchor] = useState(() => ({ current: anchorOf() ?? document.body }));
  const [width] = useState(() => anchorOf()?.offsetWidth ?? 0);
  const [value, setValue] = useState<unknown>(() => text ?? formatValue(field, record));
  const values = { [field.name]: value };
  const saving = useCellSaving(props, values);
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
            event.preventDefault();
            goOnTyping(id, text.length);
          }}
          onKeyDown={press}
          onCloseAutoFocus={(event) => event.preventDefault()}
        >
          <FieldControl
            id={id}
            field={field}
            record={record}
            collections={collections}
            value={value}
            error={saving.messages.get(field.name)}
            onChange={setValue}
          />
          <SavingNotice collection={collection} saving={saving} values={values} shown={[field.name]} />
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

function useCellSaving({ collection, record, onClose }: CellEditorProps, values: DraftValues) {
  // The row goes on changing below the editor: what counts is what one saw when one began.
  const [seen, setSeen] = useState(record);
  return useSaving({
    collection,
    id: record.id,
    values,
    before: seen,
    onSaved: onClose,
    onKeep: setSeen,
    onDrop: onClose,
  });
}

/** Sets the caret behind what was typed, as more of it follows. An address has no range to set: there the caret is at its end. */
function goOnTyping(id: string, length: number): void {
  const input = document.getElementById(id);
  input?.focus();
  const isLong = input instanceof HTMLTextAreaElement;
  if (isLong || (input instanceof HTMLInputElement && input.selectionStart !== null))
    input.setSelectionRange(length, length);
}

/** Whether Enter alone saves: on a line, or a choice that is closed; not where it begins a line, nor where it does something else. */
function isOneLine({ type }: Field, { target, shiftKey, defaultPrevented }: KeyboardEvent): boolean {
  const isLine = target instanceof Element && target.matches('input, textarea, .combobox');
  return isLine && !shiftKey && !defaultPrevented && type !== 'editor' && type !== 'json';
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
