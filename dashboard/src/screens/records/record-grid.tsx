import { useVirtualizer } from '@tanstack/react-virtual';
import { lazy, Suspense, useEffect, useEffectEvent, useId, useRef, useState, type RefObject } from 'react';
import type { Collection, RecordModel } from '../../api/client.ts';
import { rowHeights, useDensity } from '../../browser/theme.ts';
import type { Columns } from './column-layout.ts';
import { cellElement, type CellPlace, type Cells, useCells } from './grid-cells.ts';
import { GridHead } from './grid-head.tsx';
import { moveByKey } from './grid-keys.ts';
import { GridRow } from './grid-row.tsx';
import { pageRows } from './record-search.ts';
import { useGridColumns } from './use-grid-columns.ts';
import type { Selection } from '../../parts/data-table/use-selection.ts';
import { LockedCell, useMayEdit } from '../../parts/lock.tsx';

const CellEditor = lazy(async () => ({ default: (await import('./cell-editor.tsx')).CellEditor }));
const ColumnSummary = lazy(async () => ({ default: (await import('./column-summary.tsx')).ColumnSummary }));
const CellMenu = lazy(async () => ({ default: (await import('./cell-menu.tsx')).CellMenu }));

interface RecordGridProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly columns: Columns;
  readonly rows: readonly RecordModel[];
  readonly count: number | undefined;
  readonly selection: Selection;
  readonly sort: string;
  readonly filter: string;
  readonly openId: string | undefined;
  readonly gone: ReadonlySet<string>;
  /** Whether more rows can be asked for now: not while some are on their way. */
  readonly hasMore: boolean;
  /** Whether these are all rows that there are. */
  readonly isEnd: boolean;
  /** The page of the address that the table begins with. */
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly onMore: () => void;
  readonly onSort: (field: string, adds: boolean) => void;
  readonly onFilter: (filter: string) => void;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** Rows that are near the end of what is there ask for more. */
const nearEnd = 60;

/** The table. Only the rows in sight are in the page; keys move the selected cell, and the focus stays on the whole. */
export function RecordGrid(props: RecordGridProps) {
  const { collection, columns, rows, openId, selection } = props;
  const id = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string>();
  const virtualizer = useVirtualRows(scroll, rows.length);
  const shown = virtualizer.getVirtualItems();
  useMore(props, shown.at(-1)?.index ?? 0);
  const { gridColumns, width } = useGridColumns(columns);
  const cells = useCells({ ...props, grid: scroll, setActive });
  const current = rows.findIndex((record) => record.id === (active ?? openId));
  const hasCell = gridColumns.some(({ field }) => field.name === cells.activeField);
  const activeId = hasCell ? `${id}-${current}-${cells.activeField}` : `${id}-${current}`;
  const keys = { current, gridColumns, virtualizer };
  useBeginning(props, current, virtualizer);
  usePageOfAddress(props, scroll);
  return (
    <div
      ref={scroll}
      className="grid"
      role="grid"
      tabIndex={0}
      aria-label={`Records of ${collection.name}`}
      aria-rowcount={props.count ?? -1}
      aria-colcount={gridColumns.length + 1}
      aria-multiselectable
      // Only a row in sight is in the page.
      aria-activedescendant={shown.some(({ index }) => index === current) ? activeId : undefined}
      onKeyDown={(event) => moveByKey(event, cells.movement(keys))}
    >
      <GridHead
        columns={columns}
        sort={props.sort}
        width={width}
        choice={choiceOf(selection, rows.length)}
        onChooseAll={selection.toggleLoaded}
        onSort={props.onSort}
        onSummary={cells.setSummary}
      />
      <GridBody
        {...props}
        id={id}
        virtualizer={virtualizer}
        gridColumns={gridColumns}
        width={width}
        current={current}
        cells={cells}
      />
      <CellTools {...props} cells={cells} grid={scroll} onNext={(step) => cells.goOn(keys, step)} />
    </div>
  );
}

interface GridBodyProps extends RecordGridProps {
  readonly id: string;
  readonly virtualizer: ReturnType<typeof useVirtualRows>;
  readonly gridColumns: ReturnType<typeof useGridColumns>['gridColumns'];
  readonly width: number;
  readonly current: number;
  readonly cells: Cells;
}

function GridBody(props: GridBodyProps) {
  const { id, rows, collections, openId, gone, selection, virtualizer, gridColumns, width, current, cells } =
    props;
  const hasOpenRecord = openId !== undefined && openId !== 'new';
  return (
    <div
      className="grid-body"
      role="rowgroup"
      style={{ blockSize: virtualizer.getTotalSize(), inlineSize: width }}
    >
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const record = rows[index];
        if (record === undefined) return null;
        const isCurrent = index === current;
        return (
          <GridRow
            key={record.id}
            id={`${id}-${index}`}
            index={index}
            start={start}
            record={record}
            columns={gridColumns}
            collections={collections}
            isActive={record.id === openId || (isCurrent && !hasOpenRecord)}
            activeField={isCurrent ? cells.activeField : undefined}
            isChosen={selection.has(record.id)}
            isGone={gone.has(record.id)}
            actions={cells.actions}
          />
        );
      })}
    </div>
  );
}

function choiceOf({ isAll, count }: Selection, loaded: number): 'all' | 'some' | 'none' {
  if (isAll || (count > 0 && count >= loaded)) return 'all';
  return count > 0 ? 'some' : 'none';
}

interface CellToolsProps extends RecordGridProps {
  readonly cells: Cells;
  readonly grid: RefObject<HTMLDivElement | null>;
  readonly onNext: (step: 'down' | 'right' | 'left') => void;
}

/** What floats above the table: the editor of a cell, its menu, or the summary of its column. Each comes when it is first wanted. */
function CellTools({ cells, grid, ...props }: CellToolsProps) {
  const { collection, collections, columns, rows } = props;
  const { edited, menu, summary } = cells;
  const mayEdit = useMayEdit(collection);
  const placeOf = (place: CellPlace | undefined) => {
    const record = rows.find(({ id }) => id === place?.id);
    const field = columns.fieldOf(place?.field ?? '');
    return record === undefined || field === undefined ? undefined : { record, field };
  };
  const summed = columns.fieldOf(summary?.field ?? '');
  const [editing, pointing] = [placeOf(edited), placeOf(menu)];
  return (
    <Suspense fallback={null}>
      {editing !== undefined && mayEdit && (
        <CellEditor
          key={`${editing.record.id}-${editing.field.name}`}
          collection={collection}
          collections={collections}
          {...editing}
          text={edited?.text}
          onNext={props.onNext}
          anchorOf={() => cellElement(grid.current, rows.indexOf(editing.record), editing.field.name)}
          onOpen={() => props.onOpen(editing.record.id)}
          onClose={() => {
            cells.setEdited(undefined);
            cells.focus();
          }}
        />
      )}
      {editing !== undefined && !mayEdit && <LockedCell onClose={() => cells.setEdited(undefined)} />}
      {pointing !== undefined && menu?.point !== undefined && (
        <CellMenu
          collection={collection}
          {...pointing}
          point={menu.point}
          filter={props.filter}
          onFilter={props.onFilter}
          onOpen={() => props.onOpen(pointing.record.id)}
          onEdit={() => cells.setEdited({ id: pointing.record.id, field: pointing.field.name })}
          onSummary={() =>
            menu.point !== undefined && cells.setSummary({ field: menu.field, point: menu.point })
          }
          onClose={() => {
            cells.setMenu(undefined);
            cells.focus();
          }}
        />
      )}
      {summed !== undefined && summary !== undefined && (
        <ColumnSummary
          collection={collection}
          field={summed}
          point={summary.point}
          onFilter={props.onFilter}
          onClose={() => {
            cells.setSummary(undefined);
            cells.focus();
          }}
        />
      )}
    </Suspense>
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

/** Brings the record of a link into sight, or its page, once: afterwards people scroll where they want. */
function useBeginning(
  { rows, page, hasMore, isEnd, onMore }: RecordGridProps,
  position: number,
  { scrollToIndex }: { scrollToIndex: (index: number, options: { align: 'center' | 'start' }) => void },
): void {
  const isOver = useRef(false);
  const show = useEffectEvent(() => {
    const first = (page - 1) * pageRows;
    if (position >= 0) scrollToIndex(position, { align: 'center' });
    else if (first > 0 && first >= rows.length && !isEnd) return hasMore ? onMore() : undefined;
    else if (first > 0) scrollToIndex(Math.min(first, rows.length - 1), { align: 'start' });
    isOver.current = true;
  });
  useEffect(() => {
    if (!isOver.current) show();
  }, [rows.length, hasMore]);
}

const settledMs = 150;

/** Keeps the page in the address when scrolling has come to rest. */
function usePageOfAddress({ page, onPage }: RecordGridProps, scroll: RefObject<HTMLDivElement | null>): void {
  const height = rowHeights[useDensity()];
  const turn = useEffectEvent((top: number) => {
    const next = Math.floor(top / height / pageRows) + 1;
    if (next !== page) onPage(next);
  });
  useEffect(() => {
    const grid = scroll.current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listener = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => turn(grid?.scrollTop ?? 0), settledMs);
    };
    grid?.addEventListener('scroll', listener, { passive: true });
    return () => {
      clearTimeout(timer);
      grid?.removeEventListener('scroll', listener);
    };
  }, [scroll]);
}

/** Asks for more rows when the last ones come near. */
function useMore({ rows, hasMore, onMore }: RecordGridProps, lastShown: number): void {
  const more = useEffectEvent(onMore);
  const isNear = hasMore && lastShown > rows.length - nearEnd;
  useEffect(() => {
    if (isNear) more();
  }, [isNear, rows.length]);
}
