import ArrowDown from 'lucide-react/icons/arrow-down';
import ArrowUp from 'lucide-react/icons/arrow-up';
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** `main` names the row; `wide` holds sentences. */
  readonly kind?: 'main' | 'number' | 'wide';
  /** What the service sorts by for it. */
  readonly sort?: string;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined as long as they are on their way. */
  readonly rows: readonly Row[] | undefined;
  readonly keyOf: (row: Row) => string;
  /** What it is sorted by: `-created` for the latest first. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
}

const placeholderWidths = [180, 120, 210, 150];

/** Rows of a list. On a narrow screen each is a card, whose cells bear the names of their columns. */
export function Table<Row>({ caption, columns, rows, keyOf, sort, onSort }: TableProps<Row>) {
  return (
    <table className="table" aria-busy={rows === undefined}>
      <caption className="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.label} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows?.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ label, kind, cell }) => (
              <td
                key={label}
                className={classes[kind ?? 'plain']}
                data-label={kind === 'main' ? undefined : label}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
        {rows === undefined &&
          placeholderWidths.map((inlineSize) => (
            <tr key={inlineSize}>
              <td colSpan={columns.length} aria-label="Loading">
                <span className="placeholder" style={{ inlineSize }} />
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

const classes = { main: 'table-main', number: 'number', wide: 'table-wide', plain: undefined } as const;

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function Head<Row>({ column: { label, kind, sort: name }, sort, onSort }: HeadProps<Row>) {
  const className = kind === 'number' ? 'number' : undefined;
  if (name === undefined || onSort === undefined)
    return (
      <th scope="col" className={className}>
        {label}
      </th>
    );
  const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
  return (
    <th scope="col" className={className} aria-sort={order}>
      <button
        type="button"
        className="table-sort"
        onClick={() => onSort(order === 'ascending' ? `-${name}` : name)}
      >
        {label}
        {order === 'ascending' && <ArrowUp size={12} aria-hidden />}
        {order === 'descending' && <ArrowDown size={12} aria-hidden />}
      </button>
    </th>
  );
}
