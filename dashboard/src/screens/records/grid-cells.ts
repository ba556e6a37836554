import { type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Field } from '../../api/client.ts';
import { copyText } from '../../parts/copy-button.tsx';
import { showToast } from '../../parts/toast.tsx';
import { cellText, isFixed } from './cell-value.tsx';
import type { GridMovement } from './grid-keys.ts';
import type { GridColumn, RowActions } from './grid-row.tsx';
import type { Selection } from '../../parts/data-table/use-selection.ts';
import type { RecordRows } from './use-record-pages.ts';
import type { Point } from '../../parts/use-point-anchor.ts';

/** A cell that is being edited or has its menu open. */
export interface CellPlace {
  readonly id: string;
  readonly field: string;
  /** What was typed on it. */
  readonly text?: string;
  readonly point?: Point;
}

/** A column whose summary is shown, and where. */
export interface ColumnPlace {
  readonly field: string;
  readonly point: Point;
}

interface CellOptions {
  readonly rows: RecordRows;
  readonly openId: string | undefined;
  readonly selection: Selection;
  readonly grid: RefObject<HTMLElement | null>;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** The selected row: its record, and where it was, which stays when the record is not there. */
interface ActiveRow {
  readonly id: string | undefined;
  readonly index: number;
}

interface KeyContext {
  readonly current: number;
  readonly gridColumns: readonly GridColumn[];
  readonly scrollToColumn: (position: number) => void;
  readonly virtualizer: { scrollToIndex: (index: number, options: { align: 'auto' }) => void };
}

export type Cells = ReturnType<typeof useCells>;

/** Which cell is selected, which is being edited, which has its menu open, and of which column a summary is shown. */
export function useCells(options: CellOptions) {
  const { rows, openId, selection, grid, onOpen, onClose } = options;
  const [active, setActive] = useState<ActiveRow>();
  const [activeField, setActiveField] = useState<string>();
  const [edited, setEdited] = useState<CellPlace>();
  const [menu, setMenu] = useState<CellPlace>();
  const [summary, setSummary] = useState<ColumnPlace>();
  // A link or a button of a row would keep the focus, and the keys with it.
  const focus = (): void => grid.current?.focus({ preventScroll: true });
  const selectRow = (id: string): void => {
    setActive({ id, index: rows.indexOf(id) });
    // An open drawer shows the selected record, but a new one that is being filled in stays.
    if (openId !== undefined && openId !== 'new' && openId !== id) onOpen(id);
  };
  const actions = useSameActions({
    select: (id, field) => {
      focus();
      selectRow(id);
      setActiveField(field);
    },
    open: (id) => {
      focus();
      setActive({ id, index: rows.indexOf(id) });
      if (openId === id) onClose();
      else onOpen(id);
    },
    edit: (id, field) => {
      selectRow(id);
      setActiveField(field);
      setEdited({ id, field });
    },
    toggle: selection.toggle,
    showMenu: (id, field, point) => setMenu({ id, field, point }),
  });
  useArrival(active, rows, selectRow);
  const movement = (context: KeyContext): GridMovement => ({
    ...rowKeys(context, { rows, selection, selectRow, setActive, open: actions.open }),
    isEdited: edited !== undefined,
    ...cellKeys(context, { rows, grid, activeField, setActive, setActiveField, setEdited, setMenu }),
  });
  /** The cell below is next after Enter, the one beside after Tab, as in a spreadsheet. */
  const goOn = (context: KeyContext, step: 'down' | 'right' | 'left'): void => {
    if (step === 'down') movement(context).select(context.current + 1);
    else movement(context).selectColumn(step === 'right' ? 1 : -1);
  };
  const found = rows.indexOf(active === undefined ? openId : active.id);
  return {
    /** The position of the selected row; -1 for none. */
    current: found < 0 ? (active?.index ?? -1) : found,
    activeId: active?.id,
    activeField,
    edited,
    menu,
    summary,
    actions,
    movement,
    setEdited,
    setMenu,
    setSummary,
    goOn,
    focus,
  };
}

interface RowKeyOptions extends Pick<CellOptions, 'rows' | 'selection'> {
  readonly selectRow: (id: string) => void;
  readonly setActive: (row: ActiveRow) => void;
  readonly open: (id: string) => void;
}

function rowKeys({ current, virtualizer }: KeyContext, options: RowKeyOptions) {
  const { rows, selection, selectRow, setActive, open } = options;
  const record = rows.at(current);
  return {
    current,
    select: (position: number) => {
      const index = Math.max(0, Math.min(position, rows.total - 1));
      const next = rows.at(index);
      if (next === undefined) setActive({ id: undefined, index });
      else selectRow(next.id);
      virtualizer.scrollToIndex(index, { align: 'auto' });
    },
    open: () => record && open(record.id),
    toggle: (isRange: boolean) => record && selection.toggle(record.id, isRange),
    toggleLoaded: selection.toggleLoaded,
  };
}

interface CellKeyOptions extends Pick<CellOptions, 'rows' | 'grid'> {
  readonly setActive: (row: ActiveRow) => void;
  readonly activeField: string | undefined;
  readonly setActiveField: (field: string | undefined) => void;
  readonly setEdited: (change: (place: CellPlace | undefined) => CellPlace) => void;
  readonly setMenu: (place: CellPlace) => void;
}

function cellKeys({ current, gridColumns, scrollToColumn }: KeyContext, options: CellKeyOptions) {
  const { rows, grid, activeField, setActive, setActiveField, setEdited, setMenu } = options;
  const record = rows.at(current);
  const field = gridColumns.find((column) => column.field.name === activeField)?.field;
  /** What is typed before the editor is there is not lost. */
  const edit = (text?: string): boolean => {
    if (record === undefined || field === undefined) return false;
    setEdited((place) => {
      const isSame = place?.id === record.id && place.field === field.name;
      const typed = isSame ? (place.text ?? '') + (text ?? '') : text;
      return { id: record.id, field: field.name, ...(typed !== undefined && { text: typed }) };
    });
    return true;
  };
  return {
    hasCell: field !== undefined,
    selectColumn: (step: number): boolean => {
      const at = gridColumns.findIndex((column) => column.field.name === activeField);
      const position = Math.max(0, Math.min(at + step, gridColumns.length - 1));
      const next = gridColumns[position];
      if (next === undefined || position === at) return false;
      if (current < 0) setActive({ id: rows.at(0)?.id, index: 0 });
      setActiveField(next.field.name);
      scrollToColumn(position);
      return true;
    },
    leaveCell: () => setActiveField(undefined),
    edit: () => void edit(),
    begin: (text: string): boolean => {
      if (field === undefined || isFixed(field) || field.type === 'file') return false;
      if (typedTypes.has(field.type)) return edit(text);
      return text !== '' && edit();
    },
    copy: (): boolean => {
      const isText = document.getSelection()?.isCollapsed === false;
      if (record === undefined || field === undefined || isText) return false;
      void copyText(cellText(record[field.name])).then((isDone) => isDone && showToast('Value copied.'));
      return true;
    },
    showMenu: () => {
      const name = activeField ?? gridColumns[0]?.field.name;
      if (record === undefined || name === undefined) return;
      const box = cellElement(grid.current, current, name)?.getBoundingClientRect();
      setMenu({ id: record.id, field: name, point: { x: box?.left ?? 0, y: box?.bottom ?? 0 } });
    },
  };
}

/** Selects the record of a row that was gone to before it was there. */
function useArrival(active: ActiveRow | undefined, rows: RecordRows, selectRow: (id: string) => void): void {
  const arrived = active !== undefined && active.id === undefined ? rows.at(active.index)?.id : undefined;
  const select = useEffectEvent(selectRow);
  useEffect(() => {
    if (arrived !== undefined) select(arrived);
  }, [arrived]);
}

/** Types whose values are typed: a letter on such a cell takes the place of its value. Others open their editor. */
const typedTypes: ReadonlySet<Field['type']> = new Set(['text', 'number', 'email', 'url', 'editor', 'json']);

/** Actions that stay the same object and always do what the last drawing of the table would. */
function useSameActions(actions: RowActions): RowActions {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  const [same] = useState<RowActions>(() => ({
    select: (id, field) => latest.current.select(id, field),
    open: (id) => latest.current.open(id),
    edit: (id, field) => latest.current.edit(id, field),
    toggle: (id, isRange) => latest.current.toggle(id, isRange),
    showMenu: (id, field, point) => latest.current.showMenu(id, field, point),
  }));
  return same;
}

export function cellElement(grid: HTMLElement | null, index: number, field: string): HTMLElement | null {
  return (
    grid?.querySelector<HTMLElement>(`[aria-rowindex="${index + 2}"] .cell[data-field="${field}"]`) ?? null
  );
}
