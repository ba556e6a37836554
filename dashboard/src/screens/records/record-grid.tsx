import { useVirtualizer } from '@tanstack/react-virtual';
import {
  memo,
  useEffect,
  useEffectEvent,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from 'react';
import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { rowHeights, useDensity } from '../../browser/theme.ts';
import { CellValue, isEndAligned } from './cell-value.tsx';
import type { Columns } from './column-layout.ts';
import { GridHead } from './grid-head.tsx';

interface RecordGridProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly columns: Columns;
  readonly rows: readonly RecordModel[];
  readonly count: number | undefined;
  readonly sort: string;
  readonly openId: string | undefined;
  readonly gone: ReadonlySet<string>;
  readonly hasMore: boolean;
  readonly onMore: () => void;
  readonly onSort: (field: string, adds: boolean) => void;
  readonly onOpen: (id: string) => void;
}

/** A column as a row needs it: plain values, which a row compares to know that it need not be drawn again. */
interface GridColumn {
  readonly field: Field;
  readonly width: number;
}

/** Rows that are near the end of what is there ask for more. */
const nearEnd = 60;

/** The table. Only the rows in sight are in the page; arrows move a row that Enter opens, and the focus stays on the whole. */
export function RecordGrid(props: RecordGridProps) {
  const { collection, collections, columns, rows, openId, gone, onOpen } = props;
  const id = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string>();
  const virtualizer = useVirtualRows(scroll, rows.length);
  const shown = virtualizer.getVirtualItems();
  useMore(props, shown.at(-1)?.index ?? 0);
  const { gridColumns, width } = useGridColumns(columns);
  const select = (position: number): void => {
    const record = rows[Math.max(0, Math.min(position, rows.length - 1))];
    if (record === undefined) return;
    setActive(record.id);
    virtualizer.scrollToIndex(rows.indexOf(record), { align: 'auto' });
    if (openId !== undefined) onOpen(record.id);
  };
  const current = rows.findIndex((record) => record.id === (active ?? openId));
  useShownOnce(current, virtualizer);
  return (
    <div
      ref={scroll}
      className="grid"
      role="grid"
      tabIndex={0}
      aria-label={`Records of ${collection.name}`}
      aria-rowcount={props.count ?? -1}
      aria-colcount={gridColumns.length}
      // Only a row in sight is in the page.
      aria-activedescendant={shown.some(({ index }) => index === current) ? `${id}-${current}` : undefined}
      onKeyDown={(event) =>
        moveByKey(event, { current, select, open: () => rows[current] && onOpen(rows[current].id) })
      }
    >
      <GridHead columns={columns} sort={props.sort} width={width} onSort={props.onSort} />
      <div
        className="grid-body"
        role="rowgroup"
        style={{ blockSize: virtualizer.getTotalSize(), inlineSize: width }}
      >
        {shown.map(({ index, start }) => {
          const record = rows[index];
          if (record === undefined) return null;
          return (
            <Row
              key={record.id}
              id={`${id}-${index}`}
              index={index}
              start={start}
              record={record}
              columns={gridColumns}
              collections={collections}
              isSelected={record.id === openId || (openId === undefined && record.id === active)}
              isGone={gone.has(record.id)}
              onOpen={(recordId) => {
                setActive(recordId);
                onOpen(recordId);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Which rows are in sight, and where they are. All are of the same height, which the density sets. */
function useVirtualRows(scroll: RefObject<HTMLDivElement | null>, count: number) {
  const height = rowHeights[useDensity()];
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: 12,
    // What is scrolled to must not lie behind the head.
    scrollPaddingStart: 36,
  });
  useEffect(() => virtualizer.measure(), [virtualizer, height]);
  return virtualizer;
}

/** Brings the record of a link into sight, once: afterwards people scroll where they want. */
function useShownOnce(
  position: number,
  { scrollToIndex }: { scrollToIndex: (index: number, options: { align: 'center' }) => void },
): void {
  const show = useEffectEvent(() => {
    if (position >= 0) scrollToIndex(position, { align: 'center' });
  });
  useEffect(() => show(), []);
}

/** Asks for more rows when the last ones come near. */
function useMore({ rows, hasMore, onMore }: RecordGridProps, lastShown: number): void {
  const more = useEffectEvent(onMore);
  const isNear = hasMore && lastShown > rows.length - nearEnd;
  useEffect(() => {
    if (isNear) more();
  }, [isNear, rows.length]);
}

/** The columns in sight as rows need them, and how wide they are together. */
function useGridColumns(columns: Columns): {
  readonly gridColumns: readonly GridColumn[];
  readonly width: number;
} {
  const leaves = columns.table.getVisibleLeafColumns();
  const widths = leaves.map((column) => column.getSize());
  const gridColumns = useStable(
    leaves.flatMap((column, index) => {
      const field = columns.fieldOf(column.id);
      return field === undefined ? [] : [{ field, width: widths[index] ?? 0 }];
    }),
  );
  return { gridColumns, width: widths.reduce((total, one) => total + one, 0) };
}

/** Keeps the same array as long as its columns are the same, as rows compare it by identity. */
function useStable(columns: readonly GridColumn[]): readonly GridColumn[] {
  const [kept, setKept] = useState(columns);
  const isSame =
    kept.length === columns.length &&
    kept.every(
      ({ field, width }, index) => field === columns[index]?.field && width === columns[index].width,
    );
  if (!isSame) setKept(columns);
  return isSame ? kept : columns;
}

interface Movement {
  readonly current: number;
  readonly select: (position: number) => void;
  readonly open: () => void;
}

const pageRows = 15;

function moveByKey(event: KeyboardEvent, { current, select, open }: Movement): void {
  if (event.target !== event.currentTarget) return;
  switch (event.key) {
    case 'ArrowDown':
    case 'j':
      select(current + 1);
      break;
    case 'ArrowUp':
    case 'k':
      select(current - 1);
      break;
    case 'PageDown':
      select(current + pageRows);
      break;
    case 'PageUp':
      select(current - pageRows);
      break;
    case 'Home':
      select(0);
      break;
    case 'End':
      select(Number.MAX_SAFE_INTEGER);
      break;
    case 'Enter':
      open();
      break;
    default:
      return;
  }
  event.preventDefault();
}

interface RowProps {
  readonly id: string;
  readonly index: number;
  readonly start: number;
  readonly record: RecordModel;
  readonly columns: readonly GridColumn[];
  readonly collections: readonly Collection[];
  readonly isSelected: boolean;
  readonly isGone: boolean;
  readonly onOpen: (id: string) => void;
}

const Row = memo(
  function Row({ id, index, start, record, columns, collections, isSelected, isGone, onOpen }: RowProps) {
    return (
      <div
        id={id}
        className="row"
        role="row"
        // The head is the first.
        aria-rowindex={index + 2}
        aria-selected={isSelected}
        data-gone={isGone ? '' : undefined}
        style={{ transform: `translateY(${start}px)` }}
        onClick={() => onOpen(record.id)}
      >
        {columns.map(({ field, width }) => (
          <div
            key={field.id}
            className="cell"
            role="gridcell"
            data-align={isEndAligned(field) ? 'end' : undefined}
            style={{ inlineSize: width }}
          >
            <CellValue record={record} field={field} collections={collections} />
          </div>
        ))}
      </div>
    );
  },
  // What opens a row is made anew with each drawing of the table, and always does the same.
  (before, after) =>
    before.id === after.id &&
    before.start === after.start &&
    before.record === after.record &&
    before.columns === after.columns &&
    before.collections === after.collections &&
    before.isSelected === after.isSelected &&
    before.isGone === after.isGone,
);
