import { useVirtualizer } from '@tanstack/react-virtual';
import { lazy, Suspense, useEffect, useEffectEvent, useId, useRef, useState, type RefObject } from 'react';
import type { Collection } from '../../api/client.ts';
import { pageRows } from '../../api/records.ts';
import { rowHeights, useDensity } from '../../browser/theme.ts';
import type { Columns } from './column-layout.ts';
import { cellElement, type CellPlace, type Cells, useCells } from './grid-cells.ts';
import { GridHead } from './grid-head.tsx';
import { moveByKey } from './grid-keys.ts';
import { type GridColumn, GridRow } from './grid-row.tsx';
import { useGridColumns } from './use-grid-columns.ts';
import type { RecordRows, RowRange } from './use-record-pages.ts';
import type { Selection } from '../../parts/data-table/use-selection.ts';
import { LockedCell, useMayEdit } from '../../parts/lock.tsx';

const CellEditor = lazy(async () => ({ default: (await import('./cell-editor.tsx')).CellEditor }));
const ColumnSummary = lazy(async () => ({ default: (await import('./column-summary.tsx')).ColumnSummary }));
const CellMenu = lazy(async () => ({ default: (await import('./cell-menu.tsx')).CellMenu }));

interface RecordGridProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly columns: Columns;
  readonly rows: RecordRows;
  readonly count: number | undefined;
  readonly selection: Selection;
  readonly sort: string;
  readonly filter: string;
  readonly openId: string | undefined;
  readonly gone: ReadonlySet<string>;
  /** The page of the address that the table begins with. */
  readonly page: number;
  readonly onPage: (page: number) => void;
  /** Is called with the rows in sight, and the record that must stay there. */
  readonly onLook: (range: RowRange, keptId: string | undefined) => void;
  readonly onSort: (field: string, adds: boolean) => void;
  readonly onFilter: (filter: string) => void;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** The table. Only the cells in sight are in the page; keys move the selected cell, and the focus stays on the whole. */
export function RecordGrid(props: RecordGridProps) {
  const { collection, columns, rows, selection } = props;
  const id = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualRows(scroll, rows.total);
  const shown = virtualizer.getVirtualItems();
  const cells = useCells({ ...props, grid: scroll });
  const { current } = cells;
  const { all, drawn, width, scrollTo } = useGridColumns(columns, scroll, cells.activeField);
  useLook(props, shown, cells.activeId);
  const hasCell = rows.at(current) !== undefined && all.some(({ field }) => field.name === cells.activeField);
  const activeId = hasCell ? `${id}-${current}-${cells.activeField}` : `${id}-${current}`;
  const keys = { current, gridColumns: all, virtualizer, scrollToColumn: scrollTo };
  useBeginning(props, virtualizer);
  usePageOfAddress(props, scroll);
  return (
    <div
      ref={scroll}
      className="grid"
      role="grid"
      tabIndex={0}
      aria-label={`Records of ${collection.name}`}
      aria-rowcount={props.count ?? -1}
      aria-colcount={all.length + 1}
      aria-multiselectable
      // Only a row in sight is in the page.
      aria-activedescendant={shown.some(({ index }) => index === current) ? activeId : undefined}
      onKeyDown={(event) => moveByKey(event, cells.movement(keys))}
    >
      <GridHead
        columns={columns}
        sort={props.sort}
        width={width}
        choice={choiceOf(selection, rows.loaded.length)}
        onChooseAll={selection.toggleLoaded}
        onSort={props.onSort}
        onSummary={cells.setSummary}
      />
      <GridBody
        {...props}
        id={id}
        virtualizer={virtualizer}
        gridColumns={drawn}
        width={width}
        cells={cells}
      />
      <CellTools {...props} cells={cells} grid={scroll} onNext={(step) => cells.goOn(keys, step)} />
    </div>
  );
}

interface GridBodyProps extends RecordGridProps {
  readonly id: string;
  readonly virtualizer: ReturnType<typeof useVirtualRows>;
  readonly gridColumns: readonly GridColumn[];
  readonly width: number;
  readonly cells: Cells;
}

function GridBody(props: GridBodyProps) {
  const { id, rows, collections, openId, gone, selection, virtualizer, gridColumns, width, cells } = props;
  const hasOpenRecord = openId !== undefined && openId !== 'new';
  return (
    <div
      className="grid-body"
      role="rowgroup"
      style={{ blockSize: virtualizer.getTotalSize(), inlineSize: width }}
    >
      {virtualizer.getVirtualItems().map(({ index, start }) => {
        const record = rows.at(index);
        const isCurrent = index === cells.current;
        return (
          <GridRow
            key={index}
            id={`${id}-${index}`}
            index={index}
            start={start}
            record={record}
            columns={gridColumns}
            collections={collections}
            isActive={(record !== undefined && record.id === openId) || (isCurrent && !hasOpenRecord)}
            activeField={isCurrent ? cells.activeField : undefined}
            isChosen={record !== undefined && selection.has(record.id)}
            isGone={record !== undefined && gone.has(record.id)}
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
    const record = rows.at(rows.indexOf(place?.id));
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
          anchorOf={() => cellElement(grid.current, rows.indexOf(editing.record.id), editing.field.name)}
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

/** What is scrolled to must not lie behind the head. */
const headRoom = 36;

/** Which rows are in sight, and where they are. All are of the same height, which the density sets. */
function useVirtualRows(scroll: RefObject<HTMLDivElement | null>, count: number) {
  const height = rowHeights[useDensity()];
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    overscan: 12,
    scrollPaddingStart: headRoom,
  });
  useEffect(() => virtualizer.measure(), [virtualizer, height]);
  return virtualizer;
}

/** Brings the record of a link into sight, or its page, once: afterwards people scroll where they want. Another order or filter begins at its top. */
function useBeginning(
  { rows, page, openId, filter, sort }: RecordGridProps,
  { scrollToIndex }: { scrollToIndex: (index: number, options: { align: 'center' | 'start' }) => void },
): void {
  const begun = useRef<string>(undefined);
  const [first] = useState((page - 1) * pageRows);
  const position = rows.indexOf(openId);
  const selected = `${sort} ${filter}`;
  const show = useEffectEvent(() => {
    if (begun.current !== undefined) scrollToIndex(0, { align: 'start' });
    else if (position >= 0) scrollToIndex(position, { align: 'center' });
    else if (first > 0) scrollToIndex(first, { align: 'start' });
    // The record may be of a page that is on its way.
    if (rows.at(first) !== undefined) begun.current = selected;
  });
  const isThere = rows.at(first) !== undefined;
  useEffect(() => {
    if (begun.current !== selected) show();
  }, [selected, isThere]);
}

const settledMs = 150;

/** Keeps the page in the address when scrolling has come to rest. */
function usePageOfAddress({ page, onPage }: RecordGridProps, scroll: RefObject<HTMLDivElement | null>): void {
  const height = rowHeights[useDensity()];
  const turn = useEffectEvent((top: number) => {
    const next = Math.floor((top + headRoom) / height / pageRows) + 1;
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

/** Rows that are passed by are not asked for. */
const passingMs = 60;

/** Says which rows are in sight, at most once in a moment. */
function useLook(
  { rows, onLook }: RecordGridProps,
  shown: readonly { readonly index: number }[],
  keptId: string | undefined,
): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const from = shown[0]?.index ?? 0;
  const to = Math.min(shown.at(-1)?.index ?? 0, rows.total - 1);
  const look = useEffectEvent(() => {
    timer.current = undefined;
    onLook({ from, to }, keptId);
  });
  useEffect(() => {
    timer.current ??= setTimeout(() => look(), passingMs);
  }, [from, to, keptId]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
