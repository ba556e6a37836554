import {
  columnResizingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { useMemo, type ReactNode } from 'react';
import { basePath } from '../../api/client.ts';
import { useText, writeText } from '../../browser/preferences.ts';
import { resolveUpdate } from '../resolve-update.ts';

/** A column of a list. */
export interface DataColumn<Row> {
  readonly id: string;
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** `main` names the row, takes the room that is left, and is never hidden; `wide` holds sentences, which wrap. */
  readonly kind?: 'main' | 'number' | 'wide';
  /** Its width at first, in pixels. */
  readonly size: number;
  /** What rows are sorted by; `service` where the service sorts them. */
  readonly sort?: 'service' | ((row: Row) => string | number);
}

/** What is kept on this machine for each screen. */
interface Layout {
  readonly hidden: readonly string[];
  readonly widths: Readonly<Record<string, number>>;
}

const initial: Layout = { hidden: [], widths: {} };
const features = tableFeatures({ columnVisibilityFeature, columnSizingFeature, columnResizingFeature });
const widthMin = 56;
const widthMax = 900;
// Rows come page by page and are drawn one by one: a model of them would be work for nothing.
const noRows: Record<string, never>[] = [];

/** The columns of the list with this name as somebody wants them, and what changes that. */
export function useTableLayout<Row>(name: string, columns: readonly DataColumn<Row>[]) {
  const key = `chancery:${basePath}:table:${name}`;
  const text = useText(key);
  const layout = useMemo(() => decodeLayout(text), [text]);
  const save = (change: Partial<Layout>): void => writeText(key, JSON.stringify({ ...layout, ...change }));
  const columnVisibility = Object.fromEntries(layout.hidden.map((id) => [id, false]));
  const columnSizing = { ...layout.widths };
  const definitions = useMemo(
    () =>
      columns.map(({ id, size, kind }) => ({
        id,
        size,
        minSize: widthMin,
        maxSize: widthMax,
        enableHiding: kind !== 'main',
      })),
    [columns],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: noRows,
    columnResizeMode: 'onChange',
    state: { columnVisibility, columnSizing },
    onColumnVisibilityChange: (update) => {
      const shown = resolveUpdate(update, columnVisibility);
      save({ hidden: Object.keys(shown).filter((id) => shown[id] === false) });
    },
    onColumnSizingChange: (update) => save({ widths: resolveUpdate(update, columnSizing) }),
  });
  const resize = (id: string, width: number): void =>
    save({ widths: { ...layout.widths, [id]: Math.min(widthMax, Math.max(widthMin, width)) } });
  const byId = new Map(columns.map((column) => [column.id, column]));
  return {
    table,
    /** The columns in sight with their widths; that of the main one is the least until somebody has chosen one. */
    shown: table.getVisibleLeafColumns().flatMap((leaf) => {
      const column = byId.get(leaf.id);
      if (column === undefined) return [];
      return [{ column, width: leaf.getSize(), isFixed: column.kind !== 'main' || leaf.id in layout.widths }];
    }),
    labelOf: (id: string) => byId.get(id)?.label ?? id,
    resize,
    isChanged: text !== null,
    reset: () => writeText(key, undefined),
  };
}

export type TableLayout = Omit<ReturnType<typeof useTableLayout<never>>, 'shown'>;

/** What a person or an older version has written is no layout: then there is none. */
function decodeLayout(text: string | null): Layout {
  if (text === null) return initial;
  try {
    // Read member by member.
    const { hidden, widths } = JSON.parse(text) as Partial<Record<keyof Layout, unknown>>;
    return {
      hidden: Array.isArray(hidden) ? hidden.filter((id) => typeof id === 'string') : [],
      widths: Object.fromEntries(
        Object.entries(typeof widths === 'object' && widths !== null ? widths : {}).filter(
          ([, width]) => typeof width === 'number' && width >= widthMin && width <= widthMax,
        ),
      ),
    };
  } catch {
    return initial;
  }
}
