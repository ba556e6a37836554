import { useVirtualizer } from '@tanstack/react-virtual';
import X from 'lucide-react/icons/x';
import { type CSSProperties, useEffect, useEffectEvent, useRef, type ReactNode, type RefObject } from 'react';
import { useKeys } from '../../browser/keys.ts';
import { Button } from '../button.tsx';
import { MoreRows } from '../more-rows.tsx';
import { FailureNotice } from '../notice.tsx';
import { TableColumns } from './table-columns.tsx';
import { TableHead } from './table-head.tsx';
import { type DataColumn, useTableLayout } from './table-layout.ts';
import { type Selection, useSelection } from './use-selection.ts';

export interface DataTableProps<Row extends { readonly id: string }> {
  /** Under which the layout of the columns is kept on this machine. */
  readonly name: string;
  readonly label: string;
  /** The same array each time. */
  readonly columns: readonly DataColumn<Row>[];
  /** Undefined as long as they are on their way. */
  readonly rows: readonly Row[] | undefined;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** `-created` for the latest first; left out with `onSort` where no column sorts. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  /** Narrows the rows: inputs beside the menu of columns. */
  readonly filters?: ReactNode;
  /** Figures above the rows. */
  readonly plot?: ReactNode;
  /** A line between the filters and the rows, such as what is hidden. */
  readonly note?: ReactNode;
  /** In the place of the rows where there are none. */
  readonly empty: ReactNode;
  /** The row that a drawer shows, and what shows another one; left out where rows have no drawer. */
  readonly open?: OpenRow | undefined;
  readonly more?:
    { readonly isShown: boolean; readonly isBusy: boolean; readonly onMore: () => void } | undefined;
  /** Of what is selected: changes with the filter. Rows can be selected where there is something to do with them. */
  readonly scope?: string;
  readonly renderBulk?: (rows: readonly Row[], clear: () => void) => ReactNode;
  /** So many rows in words: `2 deliveries`. */
  readonly countOf: (count: number) => string;
}

interface OpenRow {
  readonly id: string | undefined;
  readonly onOpen: (id: string) => void;
}

/** Rows of a list with a head, of which those in sight are drawn. On a narrow screen each is a card, whose cells bear the names of their columns. */
export function DataTable<Row extends { readonly id: string }>(props: DataTableProps<Row>) {
  const { name, label, columns, sort = '', onSort, renderBulk, scope = '' } = props;
  const { filters, plot, note, empty, error, more, open, countOf } = props;
  const layout = useTableLayout(name, columns);
  const rows = sortRows(props.rows, columns, sort);
  const selection = useSelection(rows ?? [], scope);
  const selected = rows?.filter(({ id }) => selection.has(id)) ?? [];
  const hasSelection = renderBulk !== undefined;
  const hasFailed = error !== undefined && error !== null;
  return (
    <div className="data">
      <div className="data-tools">
        {filters}
        <TableColumns layout={layout} />
      </div>
      {plot !== undefined && <div className="data-plot">{plot}</div>}
      {note !== undefined && <p className="data-note">{note}</p>}
      {hasFailed && (
        <div className="empty">
          <FailureNotice error={error} {...(props.onRetry && { onRetry: props.onRetry })} />
        </div>
      )}
      {rows?.length === 0 && !hasFailed && empty}
      {rows?.length !== 0 && (!hasFailed || rows !== undefined) && (
        <Rows
          {...{ label, rows, layout, sort, onSort, more, open }}
          selection={hasSelection ? selection : undefined}
        />
      )}
      {hasSelection && selected.length > 0 && (
        <section className="bulk" aria-label="Selection">
          <div className="bulk-row">
            <strong>{countOf(selected.length)} selected</strong>
            <Button icon={X} tone="quiet" onClick={selection.clear}>
              Clear selection
            </Button>
            <div className="bulk-actions">{renderBulk(selected, selection.clear)}</div>
          </div>
        </section>
      )}
    </div>
  );
}

/** Sorts rows by a column that knows its values; others come sorted. */
function sortRows<Row>(
  rows: readonly Row[] | undefined,
  columns: readonly DataColumn<Row>[],
  sort: string,
): readonly Row[] | undefined {
  const by = columns.find(({ id }) => id === sort.replace(/^-/, ''))?.sort;
  if (rows === undefined || typeof by !== 'function') return rows;
  const sign = sort.startsWith('-') ? -1 : 1;
  return rows.toSorted((a, b) => sign * compare(by(a), by(b)));
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b);
  return a < b ? -1 : a > b ? 1 : 0;
}

interface RowsProps<Row extends { readonly id: string }> extends Pick<
  DataTableProps<Row>,
  'label' | 'rows' | 'more' | 'open'
> {
  readonly sort: string;
  readonly onSort: ((sort: string) => void) | undefined;
  readonly layout: ReturnType<typeof useTableLayout<Row>>;
  readonly selection: Selection | undefined;
}

const rowHeight = 40;
const placeholders = [0, 1, 2, 3, 4];

function Rows<Row extends { readonly id: string }>(props: RowsProps<Row>) {
  const { label, rows, layout, selection, sort, onSort, more, open } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const count = rows?.length ?? 0;
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows?.[index]?.id ?? index,
    overscan: 12,
  });
  useRowKeys(scroll, { scrollTo: virtualizer.scrollToIndex, isOpen: open?.id !== undefined });
  useOpenKeys(rows ?? [], open);
  const items = virtualizer.getVirtualItems();
  const span = layout.shown.length + (selection === undefined ? 0 : 1);
  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    // Rows without anything to press are scrolled by keys only where the list takes the focus.
    <div className="data-scroll" ref={scroll} tabIndex={selection === undefined ? 0 : -1}>
      <table
        className="table data-table"
        style={leastWidth(layout.shown, selection !== undefined)}
        aria-busy={rows === undefined}
        aria-rowcount={count + 1}
      >
        <caption className="unseen">{label}</caption>
        <TableHead {...{ layout, sort, onSort, selection, count }} />
        <tbody>
          {before > 0 && <Room height={before} />}
          {items.map(({ index }) => {
            const row = rows?.[index];
            if (row === undefined) return null;
            const measure = virtualizer.measureElement;
            return (
              <TableRow
                key={row.id}
                {...{ row, index, layout, selection, measure }}
                isOpen={row.id === open?.id}
              />
            );
          })}
          {after > 0 && <Room height={after} />}
          {rows === undefined &&
            placeholders.map((index) => (
              <tr key={index}>
                <td colSpan={span} aria-label="Loading">
                  <span className="placeholder" style={{ inlineSize: 180 + (index % 3) * 40 }} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {more !== undefined && <MoreRows label="Show more" {...more} />}
    </div>
  );
}

/** Of the column of checkboxes, in pixels. */
const markWidth = 44;

/** So wide that no column is narrower than it should be: else the main one would have what the others leave. */
function leastWidth(columns: readonly { readonly width: number }[], hasMarks: boolean): CSSProperties {
  const width = columns.reduce((sum, column) => sum + column.width, hasMarks ? markWidth : 0);
  // Of its own properties React knows nothing.
  return { '--data-width': `${width}px` } as CSSProperties;
}

interface TableRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly layout: ReturnType<typeof useTableLayout<Row>>;
  readonly selection: Selection | undefined;
  readonly measure: (element: HTMLElement | null) => void;
  readonly isOpen: boolean;
}

function TableRow<Row extends { readonly id: string }>(props: TableRowProps<Row>) {
  const { row, index, layout, selection, measure, isOpen } = props;
  const isChosen = selection?.has(row.id) === true;
  return (
    // The head is the first.
    <tr
      ref={measure}
      data-index={index}
      data-chosen={isChosen ? '' : undefined}
      data-open={isOpen ? '' : undefined}
      aria-rowindex={index + 2}
    >
      {selection !== undefined && (
        <td className="data-mark">
          <input
            type="checkbox"
            aria-label={`Select row ${index + 1}`}
            checked={isChosen}
            // A click, as only that tells of shift.
            onClick={(event) => selection.toggle(row.id, event.shiftKey)}
            onChange={() => {}}
          />
        </td>
      )}
      {layout.shown.map(({ column: { id, kind, label, cell } }) => (
        <td
          key={id}
          className={kind === undefined ? undefined : classes[kind]}
          data-label={kind === 'main' ? undefined : label}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}

const classes = { main: 'table-main', number: 'number', wide: 'table-wide' } as const;

/** The room of rows that are out of sight. One cell: beside a drawer, there are fewer columns. */
function Room({ height }: { readonly height: number }) {
  return (
    <tr className="data-room" aria-hidden>
      <td aria-label="Rows out of sight" style={{ blockSize: height }} />
    </tr>
  );
}

interface RowKeys {
  readonly scrollTo: (index: number) => void;
  /** Whether a drawer shows a row: it follows then. */
  readonly isOpen: boolean;
}

/** `j` and the arrow go to the next row, `k` and the arrow to the one before, `x` selects. */
function useRowKeys(scroll: RefObject<HTMLDivElement | null>, { scrollTo, isOpen }: RowKeys): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || target.closest('tbody') === null) return;
    const row = target.closest('tr');
    if (key === 'x') row?.querySelector<HTMLElement>('.data-mark input')?.click();
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
    if (step === undefined) return;
    event.preventDefault();
    const index = Math.max(0, Number(row?.dataset['index']) + step);
    const isMark = target.closest('.data-mark') !== null;
    const place = isMark ? '.data-mark input' : 'a, button';
    scrollTo(index);
    requestAnimationFrame(() => {
      const next = scroll.current?.querySelector<HTMLElement>(`tr[data-index="${index}"] :is(${place})`);
      next?.focus();
      if (isOpen && !isMark) next?.click();
    });
  });
  useEffect(() => {
    const element = scroll.current;
    const listener = (event: KeyboardEvent): void => press(event);
    element?.addEventListener('keydown', listener);
    return () => element?.removeEventListener('keydown', listener);
  }, [scroll]);
}

/** The same for the row that a drawer shows, from wherever the focus is. */
function useOpenKeys(rows: readonly { readonly id: string }[], open: OpenRow | undefined): void {
  const step = (by: number): void => {
    const index = rows.findIndex(({ id }) => id === open?.id);
    const next = index < 0 ? undefined : rows[index + by];
    if (next !== undefined) open?.onOpen(next.id);
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
}
