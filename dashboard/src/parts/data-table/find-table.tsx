import type { ReactNode } from 'react';
import { FindInput } from '../find-input.tsx';
import { DataTable, type DataTableProps } from './data-table.tsx';

interface FindTableProps<Row extends { readonly id: string }> extends Omit<
  DataTableProps<Row>,
  'filters' | 'empty' | 'scope'
> {
  readonly find: Find<Row>;
  /** In the place of the rows where there are none at all. */
  readonly none?: ReactNode;
}

interface Find<Row> {
  readonly text: string;
  readonly label: string;
  readonly placeholder: string;
  /** Where the text is looked for. */
  readonly textsOf: (row: Row) => readonly string[];
  readonly onFind: (text: string) => void;
}

/** A table whose rows are all there, and are narrowed while one types. */
export function FindTable<Row extends { readonly id: string }>({
  find: { text, label, placeholder, textsOf, onFind },
  none,
  rows,
  ...table
}: FindTableProps<Row>) {
  const wanted = text.trim().toLowerCase();
  return (
    <DataTable
      {...table}
      rows={rows?.filter((row) => textsOf(row).join('\n').toLowerCase().includes(wanted))}
      filters={
        <search>
          <FindInput label={label} placeholder={placeholder} text={text} onText={onFind} />
        </search>
      }
      empty={
        rows?.length === 0 && none !== undefined ? (
          none
        ) : (
          <p className="data-empty soft">No results for “{text}”</p>
        )
      }
      scope={text}
    />
  );
}
