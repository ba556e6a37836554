import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import { useState, type DragEvent } from 'react';
import { TypeIcon } from '../../parts/type-icon.tsx';
import type { Columns } from './column-layout.ts';
import type { ColumnPlace } from './grid-cells.ts';
import { parseSort } from './record-search.ts';

interface GridHeadProps {
  readonly columns: Columns;
  readonly sort: string;
  readonly width: number;
  /** Whether the rows that are loaded are selected: all, some, or none. */
  readonly choice?: 'all' | 'some' | 'none';
  readonly onChooseAll?: () => void;
  readonly onSort: (field: string, adds: boolean) => void;
  readonly onSummary?: (place: ColumnPlace) => void;
}

/** The names of the columns: a click sorts, with shift in addition; dragging moves one, its edge makes it wider, and a right click sums it up. */
export function GridHead({
  columns,
  sort,
  width,
  choice = 'none',
  onChooseAll,
  onSort,
  onSummary,
}: GridHeadProps) {
  const dragging = useDragging(columns);
  const terms = parseSort(sort);
  const headers = columns.table.getHeaderGroups()[0]?.headers ?? [];
  const pins = pinOffsets(columns);
  return (
    <div className="grid-head" role="rowgroup" style={{ inlineSize: width }}>
      <div role="row" aria-rowindex={1} style={{ display: 'contents' }}>
        <div className="row-mark" role="columnheader">
          <input
            type="checkbox"
            aria-label="Select the rows that are loaded"
            checked={choice === 'all'}
            ref={(input) => {
              if (input !== null) input.indeterminate = choice === 'some';
            }}
            onChange={() => onChooseAll?.()}
          />
        </div>
        {headers.map((header) => {
          const name = header.column.id;
          const field = columns.fieldOf(name);
          const rank = terms.findIndex((term) => term.field === name);
          const term = terms[rank];
          return (
            <div
              key={header.id}
              className="head-cell"
              role="columnheader"
              aria-sort={term === undefined ? 'none' : term.isDescending ? 'descending' : 'ascending'}
              data-over={dragging.isOver(name) ? '' : undefined}
              data-pinned={pins.has(name) ? '' : undefined}
              style={{ inlineSize: header.getSize(), insetInlineStart: pins.get(name) }}
              draggable={!header.column.getIsResizing()}
              onContextMenu={(event) => {
                event.preventDefault();
                onSummary?.({ field: name, point: { x: event.clientX, y: event.clientY } });
              }}
              {...dragging.handlers(name)}
            >
              <button type="button" className="head-button" onClick={(event) => onSort(name, event.shiftKey)}>
                {field !== undefined && <TypeIcon field={field} />}
                <span className="cut">{name}</span>
                {term !== undefined && (
                  <SortMark isDescending={term.isDescending} rank={terms.length > 1 ? rank + 1 : undefined} />
                )}
              </button>
              <ResizeEdge
                isActive={header.column.getIsResizing()}
                onBegin={header.getResizeHandler()}
                onReset={() => header.column.resetSize()}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A column that is dragged goes to the place of the one that it is dropped on. */
function useDragging({ move }: Columns) {
  const [dragged, setDragged] = useState<string>();
  const [over, setOver] = useState<string>();
  return {
    isOver: (name: string) => over === name && dragged !== name,
    handlers: (name: string) => ({
      onDragStart: () => setDragged(name),
      onDragEnd: () => {
        setDragged(undefined);
        setOver(undefined);
      },
      onDragOver: (event: DragEvent) => {
        if (dragged === undefined) return;
        event.preventDefault();
        setOver(name);
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        if (dragged !== undefined && dragged !== name) move(dragged, name);
      },
    }),
  };
}

/** The width of what stands before the first column. */
export const markWidth = 60;

/** Where each pinned column stays while the others scroll. */
export function pinOffsets({ table, pinned }: Columns): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  let start = markWidth;
  for (const column of table.getVisibleLeafColumns()) {
    if (!pinned.includes(column.id)) continue;
    offsets.set(column.id, start);
    start += column.getSize();
  }
  return offsets;
}

function SortMark({
  isDescending,
  rank,
}: {
  readonly isDescending: boolean;
  readonly rank: number | undefined;
}) {
  const Icon = isDescending ? ArrowDown : ArrowUp;
  return (
    <span className="head-sort">
      <Icon size={13} aria-hidden />
      {rank}
    </span>
  );
}

interface ResizeEdgeProps {
  readonly isActive: boolean;
  readonly onBegin: (event: unknown) => void;
  readonly onReset: () => void;
}

/** For the pointer; by keys, the menu of columns does the same. */
function ResizeEdge({ isActive, onBegin, onReset }: ResizeEdgeProps) {
  return (
    <span
      className="head-resize"
      aria-hidden
      data-active={isActive ? '' : undefined}
      onMouseDown={onBegin}
      onTouchStart={onBegin}
      onDoubleClick={onReset}
      // Dragging the edge must not drag the column.
      draggable
      onDragStart={(event) => {
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}
