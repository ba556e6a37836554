import Plus from 'lucide-react/icons/plus';
import { useEffect, useEffectEvent, useRef, useState, type PointerEvent } from 'react';
import { flushSync } from 'react-dom';
import type { Collection, Field } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import type { DraftHandle } from './definition-draft.ts';
import { remainingFields } from './definition-draft.ts';
import { FieldRow } from './field-row.tsx';
import { fieldTypes, freeName, newField, type FieldType, withNew } from './field-types.ts';

interface FieldListProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly errors: ReadonlyMap<string, string>;
  readonly isNew: boolean;
}

/** The fields of a definition: each a row that opens its options in its place, in the order that a record has them. */
export function FieldList({ draft, collections, errors, isNew }: FieldListProps) {
  const { next, base, dropped } = draft;
  const [openId, setOpenId] = useState<string>();
  const added = useRef<string>(undefined);
  const { list, move, startDrag, draggedId, spoken } = useOrder(draft);
  const sent = remainingFields(draft);
  const add = (type: FieldType): void => {
    const field = newField(
      type,
      freeName(type === 'relation' ? 'relation' : type.toLowerCase(), next.fields),
    );
    draft.change({ fields: withNew(next.fields, field) });
    setOpenId(field.id);
    added.current = field.id;
  };
  const findAdded = (): HTMLElement | null | undefined => {
    // The next thing to do with a new field is to name it.
    const id = added.current;
    added.current = undefined;
    const input =
      id === undefined
        ? undefined
        : list.current?.querySelector<HTMLInputElement>(`[data-field="${CSS.escape(id)}"] .schema-name`);
    input?.select();
    return input;
  };
  return (
    <>
      <ol className="schema-fields" ref={list}>
        {next.fields.map((field, index) => (
          <FieldRow
            key={field.id}
            field={field}
            base={isNew ? undefined : base.fields.find(({ id }) => id === field.id)}
            draft={draft}
            collections={collections}
            position={index + 1}
            errors={errorsOf(errors, sent.indexOf(field))}
            isDropped={dropped.includes(field.id)}
            isOpen={openId === field.id}
            isDragged={draggedId === field.id}
            onToggle={() => setOpenId(openId === field.id ? undefined : field.id)}
            onMove={(step) => move(field.id, index + step)}
            onDrag={(event) => startDrag(field.id, event)}
            onCopy={() => {
              const copy = newField(field.type, freeName(`${field.name}_copy`, next.fields));
              // The options are those of the same type; id and name are the copy's own.
              const made = { ...field, id: copy.id, name: copy.name, system: false } as Field;
              draft.change({ fields: next.fields.toSpliced(index + 1, 0, made) });
              setOpenId(copy.id);
            }}
          />
        ))}
      </ol>
      <div className="unseen" aria-live="polite">
        {spoken}
      </div>
      <AddField onAdd={add} findNext={findAdded} />
    </>
  );
}

interface AddFieldProps {
  readonly onAdd: (type: FieldType) => void;
  /** The name of the field that was added. */
  readonly findNext: () => HTMLElement | null | undefined;
}

function AddField({ onAdd, findNext }: AddFieldProps) {
  return (
    <div>
      <Menu align="start" findNext={findNext} trigger={<Button icon={Plus}>Add field</Button>}>
        {fieldTypes.map(({ value: type, label }) => (
          <MenuItem key={type} onSelect={() => onAdd(type)}>
            <TypeIcon field={newField(type, type)} size={15} />
            {label}
          </MenuItem>
        ))}
      </Menu>
    </div>
  );
}

/** What is wrong with one field, by the name of its option. */
function errorsOf(errors: ReadonlyMap<string, string>, index: number): ReadonlyMap<string, string> {
  const prefix = `fields.${index}`;
  return new Map(
    [...errors].flatMap(([path, message]) => {
      if (path === prefix) return [['', message] as const];
      return path.startsWith(`${prefix}.`) ? [[path.slice(prefix.length + 1), message] as const] : [];
    }),
  );
}

/** Moves fields, by arrow keys on their handles or by dragging those. */
function useOrder(draft: DraftHandle) {
  const list = useRef<HTMLOListElement>(null);
  const [draggedId, setDraggedId] = useState<string>();
  const [spoken, setSpoken] = useState('');
  const { fields } = draft.next;
  const move = (id: string, to: number): void => {
    const from = fields.findIndex((field) => field.id === id);
    const field = fields[from];
    if (field === undefined || to < 0 || to >= fields.length || from === to) return;
    const moved = fields.toSpliced(from, 1).toSpliced(to, 0, field);
    // A node that is put elsewhere in the page loses the focus.
    flushSync(() => {
      draft.change({ fields: moved });
      setSpoken(`${field.name} is ${to + 1} of ${fields.length}.`);
    });
    list.current?.querySelector<HTMLElement>(`[data-field="${CSS.escape(id)}"] .schema-handle`)?.focus();
  };
  const follow = useEffectEvent((event: globalThis.PointerEvent) => {
    if (draggedId === undefined) return;
    const over = document
      .elementsFromPoint(event.clientX, event.clientY)
      .map((element) => element.closest<HTMLElement>('[data-field]'))
      .find((element) => element !== null);
    const to = fields.findIndex(({ id }) => id === over?.dataset['field']);
    if (to !== -1) move(draggedId, to);
  });
  const isDragging = draggedId !== undefined;
  useEffect(() => {
    if (!isDragging) return undefined;
    const end = (): void => setDraggedId(undefined);
    const listener = (event: globalThis.PointerEvent): void => follow(event);
    window.addEventListener('pointermove', listener);
    window.addEventListener('pointerup', end);
    window.addEventListener('pointercancel', end);
    return () => {
      window.removeEventListener('pointermove', listener);
      window.removeEventListener('pointerup', end);
      window.removeEventListener('pointercancel', end);
    };
  }, [isDragging]);
  return {
    list,
    move,
    draggedId,
    spoken,
    startDrag: (id: string, event: PointerEvent<HTMLElement>): void => {
      if (event.button === 0) setDraggedId(id);
    },
  };
}
