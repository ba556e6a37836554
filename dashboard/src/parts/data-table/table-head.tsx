import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import type { DataColumn, useTableLayout } from './table-layout.ts';
import type { Selection } from './use-selection.ts';

interface TableHeadProps<Row> {
  readonly layout: ReturnType<typeof useTableLayout<Row>>;
  readonly selection: Selection | undefined;
  /** How many rows are loaded. */
  readonly count: number;
  readonly sort: string;
  readonly onSort: ((sort: string) => void) | undefined;
}

/** The names of the columns: a click sorts, dragging an edge makes one wider, a double click as wide as it was. */
export function TableHead<Row>({ layout, selection, count, sort, onSort }: TableHeadProps<Row>) {
  const headers = new Map(
    (layout.table.getHeaderGroups()[0]?.headers ?? []).map((header) => [header.column.id, header]),
  );
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection !== undefined && (
          <th scope="col" className="data-mark">
            <input
              type="checkbox"
              aria-label="Select the rows that are loaded"
              checked={count > 0 && selection.count >= count}
              ref={(input) => {
                if (input !== null) input.indeterminate = selection.count > 0 && selection.count < count;
              }}
              onChange={selection.toggleLoaded}
            />
          </th>
        )}
        {layout.shown.map(({ column, width, isFixed }) => {
          const header = headers.get(column.id);
          return (
            <th
              key={column.id}
              scope="col"
              className={column.kind === 'number' ? 'number' : undefined}
              style={isFixed ? { inlineSize: width } : undefined}
              {...(column.sort !== undefined && { 'aria-sort': orderOf(column.id, sort) })}
            >
              <HeadLabel column={column} sort={sort} onSort={onSort} />
              <span
                className="head-resize"
                aria-hidden
                data-active={header?.column.getIsResizing() === true ? '' : undefined}
                onMouseDown={header?.getResizeHandler()}
                onTouchStart={header?.getResizeHandler()}
                onDoubleClick={() => header?.column.resetSize()}
              />
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function orderOf(id: string, sort: string): 'ascending' | 'descending' | 'none' {
  return sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none';
}

interface HeadLabelProps<Row> extends Pick<TableHeadProps<Row>, 'sort' | 'onSort'> {
  readonly column: DataColumn<Row>;
}

function HeadLabel<Row>({ column: { id, label, sort: by, kind }, sort, onSort }: HeadLabelProps<Row>) {
  if (by === undefined) return label;
  const order = orderOf(id, sort);
  // Figures and times from the largest on: that is what one looks for.
  const first = kind === 'number' ? `-${id}` : id;
  const other = first === id ? `-${id}` : id;
  return (
    <button type="button" className="table-sort" onClick={() => onSort?.(sort === first ? other : first)}>
      {label}
      {order === 'ascending' && <ArrowUp size={12} aria-hidden />}
      {order === 'descending' && <ArrowDown size={12} aria-hidden />}
    </button>
  );
}
