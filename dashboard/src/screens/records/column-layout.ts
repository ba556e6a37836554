import {
  columnOrderingFeature,
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  tableFeatures,
  useTable,
  type Updater,
} from '@tanstack/react-table';
import { useMemo } from 'react';
import type { Collection, Field } from '../../api/client.ts';
import { basePath } from '../../api/client.ts';
import { shownFields } from '../../api/collections.ts';
import { useText, writeText } from '../../browser/preferences.ts';

/** How a person has laid out the columns of a collection. Fields that it does not name are shown where the definition has them. */
interface ColumnLayout {
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  readonly widths: Readonly<Record<string, number>>;
}

const noLayout: ColumnLayout = { order: [], hidden: [], widths: {} };

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
  date: 170,
  autodate: 170,
  select: 150,
  file: 180,
  relation: 180,
  json: 220,
  geoPoint: 170,
  password: 120,
};

/** The columns of a collection as they are to be shown, and what changes them. Kept on this machine, by collection. */
export function useColumns(collection: Collection) {
  const key = `chancery:${basePath}:columns:${collection.id}`;
  const text = useText(key);
  const layout = useMemo(() => decodeLayout(text), [text]);
  const save = (change: Partial<ColumnLayout>): void =>
    writeText(key, JSON.stringify({ ...layout, ...change }));
  const fields = useMemo(() => shownFields(collection), [collection]);
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
  const columnOrder = completeOrder(layout.order, fields);
  const columnVisibility = Object.fromEntries(layout.hidden.map((name) => [name, false]));
  const columnSizing = { ...layout.widths };
  // Of columns only: rows come page by page and are drawn one by one, so that a model of them would be work for nothing.
  const table = useTable({
    features,
    columns,
    data: noRows,
    columnResizeMode: 'onChange',
    state: { columnOrder, columnVisibility, columnSizing },
    onColumnOrderChange: (update) => save({ order: resolve(update, columnOrder) }),
    onColumnSizingChange: (update) => save({ widths: resolve(update, columnSizing) }),
    onColumnVisibilityChange: (update) => {
      const shown = resolve(update, columnVisibility);
      save({ hidden: Object.keys(shown).filter((name) => shown[name] === false) });
    },
  });
  return {
    table,
    fieldOf: (id: string) => fields.find(({ name }) => name === id),
    /** Moves a column to the place of another. */
    move: (name: string, to: string) => {
      const rest = columnOrder.filter((one) => one !== name);
      rest.splice(columnOrder.indexOf(to), 0, name);
      save({ order: rest });
    },
    reset: () => writeText(key, undefined),
    isChanged: text !== null,
  };
}

export type Columns = ReturnType<typeof useColumns>;

const noRows: Record<string, never>[] = [];

function resolve<Value>(update: Updater<Value>, current: Value): Value {
  // A state of a table is no function itself, which the type of an updater cannot say.
  return typeof update === 'function' ? (update as (value: Value) => Value)(current) : update;
}

/** New fields come at the end, in the order of the definition; those that are gone are left out. */
function completeOrder(order: readonly string[], fields: readonly Field[]): string[] {
  const names = fields.map(({ name }) => name);
  const kept = order.filter((name) => names.includes(name));
  return [...kept, ...names.filter((name) => !kept.includes(name))];
}

/** What an older version has written, or a person, is no layout: then there is none. */
function decodeLayout(text: string | null): ColumnLayout {
  if (text === null) return noLayout;
  try {
    // Only written by `save`.
    return { ...noLayout, ...(JSON.parse(text) as Partial<ColumnLayout>) };
  } catch {
    return noLayout;
  }
}
