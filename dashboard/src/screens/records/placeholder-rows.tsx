import type { Columns } from './column-layout.ts';
import { GridHead, markWidth } from './grid-head.tsx';

const rowCount = 14;

/** The table before its rows are there, laid out as it will be. */
export function PlaceholderRows({ columns }: { readonly columns: Columns }) {
  const leaves = columns.table.getVisibleLeafColumns();
  const width = leaves.reduce((total, column) => total + column.getSize(), markWidth);
  return (
    <div className="grid" aria-busy aria-label="Loading records" role="grid" tabIndex={0}>
      <GridHead columns={columns} sort="" width={width} onSort={() => {}} />
      <div className="grid-body" aria-hidden style={{ inlineSize: width }}>
        {Array.from({ length: rowCount }, (_, row) => (
          <div key={row} className="row" style={{ position: 'static' }}>
            <span className="row-mark" />
            {leaves.map((column, index) => (
              <div key={column.id} className="cell" style={{ inlineSize: column.getSize() }}>
                {/* Of different lengths, as texts are. */}
                <span
                  className="placeholder"
                  style={{ inlineSize: `${35 + ((row * 37 + index * 53) % 50)}%` }}
                />
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
