import { ColumnsPopover, ColumnWidth } from '../columns-popover.tsx';
import type { TableLayout } from './table-layout.ts';

/** Which columns show, and how wide: the same as dragging the edges of the head, for keys. */
export function TableColumns({ layout }: { readonly layout: TableLayout }) {
  const { table, labelOf, resize, isChanged, reset } = layout;
  return (
    <ColumnsPopover isChanged={isChanged} reset={reset} resetText="Reset columns">
      {table.getAllLeafColumns().map((column) => (
        <div key={column.id} className="columns-item">
          <label>
            <input
              type="checkbox"
              checked={column.getIsVisible()}
              disabled={!column.getCanHide()}
              onChange={(event) => column.toggleVisibility(event.target.checked)}
            />
            <span className="cut">{labelOf(column.id)}</span>
          </label>
          <ColumnWidth
            label={labelOf(column.id)}
            width={column.getSize()}
            onWidth={(width) => resize(column.id, width)}
          />
        </div>
      ))}
    </ColumnsPopover>
  );
}
