import PanelRight from 'lucide-react/icons/panel-right';
import { memo } from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { CellValue, isEndAligned } from './cell-value.tsx';
import type { Point } from '../../parts/use-point-anchor.ts';

/** A column as a row needs it: plain values, which a row compares to know that it need not be drawn again. */
export interface GridColumn {
  readonly field: Field;
  readonly width: number;
  /** Its place among all columns, from 0 on. */
  readonly position: number;
  /** The room of the columns before it that are out of sight. */
  readonly before: number;
  /** How far from the start it stays while others scroll; undefined for one that scrolls. */
  readonly pin: number | undefined;
}

/** What happens at a cell. It is the same object as long as the table is there. */
export interface RowActions {
  /** Selects a cell, or where there is none a row. */
  readonly select: (id: string, field: string | undefined) => void;
  /** Opens the record beside the table, or closes it where it is open. */
  readonly open: (id: string) => void;
  readonly toggle: (id: string, isRange: boolean) => void;
  readonly edit: (id: string, field: string) => void;
  readonly showMenu: (id: string, field: string, point: Point) => void;
}

interface RowProps {
  readonly id: string;
  readonly index: number;
  readonly start: number;
  /** Undefined while it is on its way. */
  readonly record: RecordModel | undefined;
  readonly columns: readonly GridColumn[];
  readonly collections: readonly Collection[];
  readonly isActive: boolean;
  /** The field of the cell that keys are for, if it is in this row. */
  readonly activeField: string | undefined;
  readonly isChosen: boolean;
  readonly isGone: boolean;
  readonly actions: RowActions;
}

export const GridRow = memo(function GridRow(props: RowProps) {
  const { id, index, start, record, columns, collections, isActive, activeField, isChosen, isGone, actions } =
    props;
  if (record === undefined) return <ComingRow {...props} />;
  return (
    <div
      id={id}
      className="row"
      role="row"
      // The head is the first.
      aria-rowindex={index + 2}
      aria-selected={isChosen || isActive}
      data-chosen={isChosen ? '' : undefined}
      data-gone={isGone ? '' : undefined}
      style={{ transform: `translateY(${start}px)` }}
      onClick={(event) => {
        // The second click of a double click, which edits.
        if (event.detail > 1) return;
        if (event.shiftKey) actions.toggle(record.id, true);
        else if (event.metaKey || event.ctrlKey) actions.toggle(record.id, false);
        else actions.select(record.id, fieldAt(event.target));
      }}
    >
      <div className="row-mark" role="gridcell" onClick={(event) => event.stopPropagation()}>
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${record.id}`}
          checked={isChosen}
          // A click, as only that tells of shift.
          onClick={(event) => actions.toggle(record.id, event.shiftKey)}
          onChange={() => {}}
        />
        <button
          type="button"
          className="row-open"
          tabIndex={-1}
          aria-label={`Open ${record.id}`}
          title="Open (space)"
          onClick={() => actions.open(record.id)}
        >
          <PanelRight size={14} aria-hidden />
        </button>
      </div>
      {columns.map(({ field, width, position, before, pin }) => (
        <div
          key={field.id}
          id={`${id}-${field.name}`}
          className="cell"
          role="gridcell"
          // The mark is the first.
          aria-colindex={position + 2}
          data-field={field.name}
          data-active={field.name === activeField ? '' : undefined}
          data-align={isEndAligned(field) ? 'end' : undefined}
          data-pinned={pin === undefined ? undefined : ''}
          style={{ inlineSize: width, insetInlineStart: pin, marginInlineStart: before }}
          onDoubleClick={() => actions.edit(record.id, field.name)}
          onContextMenu={(event) => {
            event.preventDefault();
            actions.showMenu(record.id, field.name, { x: event.clientX, y: event.clientY });
          }}
        >
          <CellValue record={record} field={field} collections={collections} />
        </div>
      ))}
    </div>
  );
});

/** A row that is on its way. */
function ComingRow({ id, index, start, isActive }: RowProps) {
  return (
    <div
      id={id}
      className="row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      aria-busy
      style={{ transform: `translateY(${start}px)` }}
    >
      <div className="cell" role="gridcell" aria-label="Loading">
        <span className="placeholder" style={{ inlineSize: 120 + ((index * 37) % 160) }} />
      </div>
    </div>
  );
}

function fieldAt(target: EventTarget): string | undefined {
  return target instanceof Element ? target.closest<HTMLElement>('.cell')?.dataset['field'] : undefined;
}
