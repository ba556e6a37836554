import {
  columnOrderingFeature,
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import type { Collection, Field } from '../../api/client.ts';
import { basePath } from '../../api/client.ts';
import { shownFields } from '../../api/collections.ts';
import { useText, writeText } from '../../browser/preferences.ts';
import { resolveUpdate } from '../../parts/resolve-update.ts';
import { timeWidth } from '../../parts/time.tsx';
import { type ColumnPlan, formatColumns, parseColumns } from './column-search.ts';

/** What is kept on this machine by collection: the columns as an address has them, and their widths. */
interface ColumnLayout {
  readonly columns: string;
  readonly widths: Readonly<Record<string, number>>;
}

const noLayout: ColumnLayout = { columns: '', widths: {} };

/** The columns of the address, which come before those of this machine, and what changes them there. */
export interface ColumnAddress {
  readonly columns: string | undefined;
  readonly onColumns: (columns: string | undefined, before: string) => void;
}

const features = tableFeatures({
  columnOrderingFeature,
  columnVisibilityFeature,
  columnSizingFeature,
  columnResizingFeature,
});

const widthMin = 64;
const widthMax = 900;

/** Widths that show a usual value of a type without cutting it. */
const widths: Readonly<Record<Field['type'], number>> = {
  text: 220,
  number: 110,
  bool: 90,
  email: 210,
  url: 220,
  editor: 260,
  date: timeWidth,
  autodate: timeWidth,
  select: 150,
  file: 180,
  relation: 180,
  json: 220,
  geoPoint: 170,
  password: 120,
};

/** The columns of a collection as they are to be shown, and what changes them. */
export function useColumns(collection: Collection, address: ColumnAddress) {
  const key = `chancery:${basePath}:columns:${collection.id}`;
  const text = useText(key);
  const layout = useMemo(() => decodeLayout(text), [text]);
  const fields = useMemo(() => shownFields(collection), [collection]);
  const plan = useMemo(
    () => completePlan(parseColumns(address.columns ?? layout.columns), fields),
    [address.columns, layout.columns, fields],
  );
  const save = (change: Partial<ColumnPlan>): void => {
    const columns = formatColumns(completePlan({ ...plan, ...change }, fields));
    writeText(key, JSON.stringify({ ...layout, columns }));
    address.onColumns(columns, formatColumns(plan));
  };
  const saveWidths = (next: ColumnLayout['widths']): void =>
    writeText(key, JSON.stringify({ ...layout, widths: next }));
  const columns = useMemo(
    () =>
      fields.map((field) => ({
        id: field.name,
        size: field.name === 'id' ? 160 : widths[field.type],
        minSize: widthMin,
        maxSize: widthMax,
        meta: { field },
      })),
    [fields],
  );
  const columnVisibility = Object.fromEntries(plan.hidden.map((name) => [name, false]));
  const columnSizing = { ...layout.widths };
  // Of columns only: rows come page by page and are drawn one by one, so that a model of them would be work for nothing.
  const table = useTable({
    features,
    columns,
    data: noRows,
    columnResizeMode: 'onChange',
    state: { columnOrder: [...plan.order], columnVisibility, columnSizing },
    onColumnOrderChange: (update) => save({ order: resolveUpdate(update, [...plan.order]) }),
    onColumnSizingChange: (update) => saveWidths(resolveUpdate(update, columnSizing)),
    onColumnVisibilityChange: (update) => {
      const shown = resolveUpdate(update, columnVisibility);
      save({ hidden: Object.keys(shown).filter((name) => shown[name] === false) });
    },
  });
  return {
    table,
    fieldOf: (id: string) => fields.find(({ name }) => name === id),
    pinned: plan.pinned,
    /** As an address has them. */
    text: formatColumns(plan),
    /** Moves a column to the place of another. */
    move: (name: string, to: string) => {
      const rest = plan.order.filter((one) => one !== name);
      rest.splice(plan.order.indexOf(to), 0, name);
      save({ order: rest });
    },
    togglePin: (name: string) => {
      const isPinned = plan.pinned.includes(name);
      const pinned = isPinned ? plan.pinned.filter((one) => one !== name) : [...plan.pinned, name];
      save({ pinned, hidden: plan.hidden.filter((one) => one !== name) });
    },
    resize: (name: string, width: number) =>
      saveWidths({ ...layout.widths, [name]: Math.min(widthMax, Math.max(widthMin, width)) }),
    reset: () => {
      writeText(key, undefined);
      address.onColumns(undefined, formatColumns(plan));
    },
    isChanged: text !== null || address.columns !== undefined,
  };
}

export type Columns = ReturnType<typeof useColumns>;

/** The records that the table shows, page by page. */
export interface ShownRecords {
  readonly collection: Collection;
  readonly columns: Columns;
  readonly filter: string;
  readonly sort: string;
}

const noRows: Record<string, never>[] = [];

/** New fields come at the end, in the order of the definition; those that are gone are left out. Pinned ones come first. */
function completePlan({ order, hidden, pinned }: ColumnPlan, fields: readonly Field[]): ColumnPlan {
  const names = fields.map(({ name }) => name);
  const isKnown = (name: string): boolean => names.includes(name);
  const all = [...new Set([...order.filter(isKnown), ...names])];
  const first = all.filter((name) => pinned.includes(name));
  return {
    order: [...first, ...all.filter((name) => !pinned.includes(name))],
    hidden: hidden.filter(isKnown),
    pinned: first,
  };
}

/** What an older version has written, or a person, is no layout: then there is none. */
function decodeLayout(text: string | null): ColumnLayout {
  if (text === null) return noLayout;
  try {
    // Only written by `useColumns`.
    return { ...noLayout, ...(JSON.parse(text) as Partial<ColumnLayout>) };
  } catch {
    return noLayout;
  }
}
