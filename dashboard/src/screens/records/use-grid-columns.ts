import { useState } from 'react';
import type { Columns } from './column-layout.ts';
import { markWidth, pinOffsets } from './grid-head.tsx';
import type { GridColumn } from './grid-row.tsx';

/** The columns in sight as rows need them, and how wide they are together. */
export function useGridColumns(columns: Columns): {
  readonly gridColumns: readonly GridColumn[];
  readonly width: number;
} {
  const leaves = columns.table.getVisibleLeafColumns();
  const pins = pinOffsets(columns);
  const gridColumns = useStable(
    leaves.flatMap((column) => {
      const field = columns.fieldOf(column.id);
      return field === undefined ? [] : [{ field, width: column.getSize(), pin: pins.get(column.id) }];
    }),
  );
  return { gridColumns, width: gridColumns.reduce((total, { width }) => total + width, markWidth) };
}

/** Keeps the same array as long as its columns are the same, as rows compare it by identity. */
function useStable(columns: readonly GridColumn[]): readonly GridColumn[] {
  const [kept, setKept] = useState(columns);
  const isSame =
    kept.length === columns.length &&
    kept.every(({ field, width, pin }, index) => {
      const other = columns[index];
      return field === other?.field && width === other.width && pin === other.pin;
    });
  if (!isSame) setKept(columns);
  return isSame ? kept : columns;
}
