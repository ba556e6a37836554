import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useState } from 'react';
import type { Columns } from './column-layout.ts';
import { markWidth, pinOffsets } from './grid-head.tsx';
import type { GridColumn } from './grid-row.tsx';

/** Beyond those in sight, on each side. */
const overscan = 8;

/**
 * The columns as rows need them, and how wide they are together. Rows draw those in sight, those that are pinned, and that of the selected cell.
 */
export function useGridColumns(
  columns: Columns,
  scroll: RefObject<HTMLDivElement | null>,
  activeField: string | undefined,
) {
  const leaves = columns.table.getVisibleLeafColumns();
  const pins = pinOffsets(columns);
  const all = useStable(
    leaves.flatMap((column, position) => {
      const field = columns.fieldOf(column.id);
      return field === undefined
        ? []
        : [{ field, width: column.getSize(), position, before: 0, pin: pins.get(column.id) }];
    }),
  );
  const pinned = all.filter(({ pin }) => pin !== undefined);
  const active = all.findIndex(({ field }) => field.name === activeField);
  const virtualizer = useVirtualizer({
    horizontal: true,
    count: all.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => all[index]?.width ?? 0,
    overscan,
    paddingStart: markWidth,
    // What is scrolled to must not lie behind the mark and the pinned columns.
    scrollPaddingStart: pinned.reduce((total, { width }) => total + width, markWidth),
    rangeExtractor: (range) => {
      const always = [...pinned.keys(), ...(active < 0 ? [] : [active])];
      return [...new Set([...always, ...defaultRangeExtractor(range)])].toSorted((one, other) => one - other);
    },
  });
  useEffect(() => virtualizer.measure(), [virtualizer, all]);
  let end = markWidth;
  const drawn = useStable(
    virtualizer.getVirtualItems().flatMap(({ index, start, size }) => {
      const column = all[index];
      const before = start - end;
      end = start + size;
      return column === undefined ? [] : [{ ...column, before }];
    }),
  );
  return {
    all,
    drawn,
    width: all.reduce((total, { width }) => total + width, markWidth),
    /** Pinned columns are always in sight. */
    scrollTo: (position: number) =>
      all[position]?.pin === undefined && virtualizer.scrollToIndex(position, { align: 'auto' }),
  };
}

/** Keeps the same array as long as its columns are the same, as rows compare it by identity. */
function useStable(columns: readonly GridColumn[]): readonly GridColumn[] {
  const [kept, setKept] = useState(columns);
  const isSame =
    kept.length === columns.length &&
    kept.every(({ field, width, position, before, pin }, index) => {
      const other = columns[index];
      return (
        field === other?.field &&
        width === other.width &&
        position === other.position &&
        before === other.before &&
        pin === other.pin
      );
    });
  if (!isSame) setKept(columns);
  return isSame ? kept : columns;
}
