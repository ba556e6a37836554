import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import ChevronDown from 'lucide-react/icons/chevron-down';
import CopyPlus from 'lucide-react/icons/copy-plus';
import Ellipsis from 'lucide-react/icons/ellipsis';
import GripVertical from 'lucide-react/icons/grip-vertical';
import Trash2 from 'lucide-react/icons/trash-2';
import Undo2 from 'lucide-react/icons/undo-2';
import type { KeyboardEvent, PointerEvent } from 'react';
import { Button, IconButton } from '../../parts/button.tsx';
import { errorAttributes } from '../../parts/labelled-field.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { TypeIcon } from '../../parts/type-icon.tsx';
import { FieldOptions, type FieldOptionsProps } from './field-options.tsx';
import { isStandard } from './field-types.ts';
import { isUniqueOn } from '../../parts/unique-index.ts';

interface FieldRowProps extends FieldOptionsProps {
  readonly position: number;
  readonly isDropped: boolean;
  readonly isOpen: boolean;
  readonly isDragged: boolean;
  readonly onToggle: () => void;
  readonly onMove: (step: number) => void;
  readonly onDrag: (event: PointerEvent<HTMLElement>) => void;
  readonly onCopy: () => void;
}

export function FieldRow(props: FieldRowProps) {
  const { field, draft, errors, isDropped, isDragged } = props;
  const isOpen = (props.isOpen || [...errors.keys()].some((name) => name !== 'name')) && !isDropped;
  const optionsId = `${field.id}-options`;
  return (
    <li
      className="schema-field"
      data-field={field.id}
      data-dropped={isDropped ? '' : undefined}
      data-dragged={isDragged ? '' : undefined}
      data-error={errors.size > 0 ? '' : undefined}
    >
      <div className="schema-field-head">
        <Handle {...props} />
        <TypeIcon field={field} size={15} />
        <NameInput {...props} />
        <span className="schema-type faint">{field.type}</span>
        <Marks {...props} />
        {isDropped ? (
          <Button icon={Undo2} tone="quiet" onClick={() => draft.restore(field.id)}>
            Keep it
          </Button>
        ) : (
          <>
            <IconButton
              icon={ChevronDown}
              label={`Options of ${field.name}`}
              aria-expanded={isOpen}
              aria-controls={isOpen ? optionsId : undefined}
              className="schema-toggle"
              onClick={props.onToggle}
            />
            <RowMenu {...props} />
          </>
        )}
      </div>
      <FieldErrors field={field} errors={errors} />
      {isOpen && (
        <div id={optionsId}>
          <FieldOptions {...props} />
        </div>
      )}
    </li>
  );
}

/** Takes the field elsewhere: dragged, or by the arrow keys. */
function Handle({ field, onMove, onDrag }: FieldRowProps) {
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onMove(step);
  };
  return (
    <button
      type="button"
      className="schema-handle"
      aria-label={`Move ${field.name}: arrow up, arrow down`}
      onKeyDown={press}
      onPointerDown={onDrag}
    >
      <GripVertical size={14} aria-hidden />
    </button>
  );
}

function NameInput({ field, draft, position, errors, isDropped }: FieldRowProps) {
  return (
    <input
      className="schema-name"
      aria-label={`Name of field ${position}`}
      value={field.name}
      disabled={isDropped}
      readOnly={field.system || field.name === 'id'}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => {
        const { indexes, fields } = draft.next;
        const name = event.target.value;
        // A new index is about the field, however that is called in the end; those of the service follow by themselves.
        const renamed = indexes.map((text) =>
          draft.base.indexes.includes(text) ? text : text.replaceAll(`\`${field.name}\``, `\`${name}\``),
        );
        draft.change({
          fields: fields.map((one) => (one.id === field.id ? { ...one, name } : one)),
          indexes: renamed,
        });
      }}
      {...errorAttributes(`${field.id}-name`, errors.get('name'))}
    />
  );
}

/** What a reader of the list has to know without opening a row. */
function Marks({ field, base, draft, collections, isDropped }: FieldRowProps) {
  const target =
    field.type === 'relation' ? collections.find(({ id }) => id === field.collectionId) : undefined;
  const marks: readonly string[] = [
    ...(target === undefined ? [] : [`→ ${target.name}`]),
    ...('required' in field && field.required ? ['required'] : []),
    ...(isUniqueOn(draft.next, field.name) ? ['unique'] : []),
    ...(field.hidden ? ['hidden'] : []),
    ...(field.presentable ? ['presentable'] : []),
  ];
  return (
    <span className="schema-marks">
      {base !== undefined && base.name !== field.name && (
        <span className="chip" data-tone="changed">
          was {base.name}
        </span>
      )}
      {isDropped && (
        <span className="chip" data-tone="lost">
          will be dropped
        </span>
      )}
      {marks.map((mark) => (
        <span key={mark} className="chip">
          {mark}
        </span>
      ))}
    </span>
  );
}

function RowMenu({ field, draft, position, onMove, onCopy }: FieldRowProps) {
  const isKept = isStandard(field);
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`More about ${field.name}`} />}>
      {position > 1 && (
        <MenuItem icon={ArrowUp} onSelect={() => onMove(-1)}>
          Move up
        </MenuItem>
      )}
      {position < draft.next.fields.length && (
        <MenuItem icon={ArrowDown} onSelect={() => onMove(1)}>
          Move down
        </MenuItem>
      )}
      {!isKept && (
        <>
          <MenuItem icon={CopyPlus} onSelect={onCopy}>
            Duplicate
          </MenuItem>
          <MenuLine />
          <MenuItem icon={Trash2} tone="danger" onSelect={() => draft.drop(field.id)}>
            Drop the field
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

/** What is wrong with the name, and with the whole field. */
function FieldErrors({ field, errors }: Pick<FieldRowProps, 'field' | 'errors'>) {
  return [...errors]
    .filter(([option]) => option === 'name' || option === '')
    .map(([option, message]) => (
      <p
        key={option}
        className="field-error schema-field-error"
        id={option === 'name' ? `${field.id}-name-error` : undefined}
        role="alert"
      >
        {message}
      </p>
    ));
}
