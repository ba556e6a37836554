import type { Collection, Field, RecordModel } from '../../api/client.ts';
import { saveBlob } from '../../browser/save-blob.ts';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { readPages, type Target } from './bulk-work.ts';
import type { Columns } from './column-layout.ts';
import { cellOfText, formatCsvLine } from './csv.ts';
import type { useWork } from './use-work.ts';

export type ExportFormat = 'csv' | 'json' | 'ndjson';

export const exportFormats: readonly {
  readonly value: ExportFormat;
  readonly label: string;
  readonly type: string;
}[] = [
  { value: 'csv', label: 'CSV', type: 'text/csv' },
  { value: 'json', label: 'JSON', type: 'application/json' },
  { value: 'ndjson', label: 'NDJSON', type: 'application/x-ndjson' },
];

interface ExportSource {
  readonly collection: Collection;
  readonly columns: Columns;
  readonly target: Target;
}

/** Exports records in the columns that show. */
export async function startExport(
  work: ReturnType<typeof useWork>,
  { collection, columns, target }: ExportSource,
  format: ExportFormat,
): Promise<void> {
  await work.start({
    verb: 'Exporting',
    changesRows: false,
    run: async (signal, onProgress) => {
      const fields = columns.table.getVisibleLeafColumns().map(({ id }) => id);
      const count = await exportRecords(target, {
        collection,
        format,
        fields,
        signal,
        onProgress: (done) => onProgress({ done, failed: [] }),
      });
      showToast(`${plural(count, 'record')} exported.`);
    },
  });
}

interface ExportOptions {
  readonly collection: Collection;
  readonly format: ExportFormat;
  /** The columns of CSV; JSON has all members. */
  readonly fields: readonly string[];
  readonly signal: AbortSignal;
  readonly onProgress: (count: number) => void;
}

/** Reads the records of a target page by page into a file, and hands that to the browser. */
async function exportRecords(target: Target, options: ExportOptions): Promise<number> {
  const { collection, format, fields, signal, onProgress } = options;
  const { name } = collection;
  const writer = writers[format](fields, collection);
  // A blob of parts, which the browser keeps on disk when they are many.
  const parts: string[] = [writer.head];
  let count = 0;
  for await (const records of readPages({ collection: name, signal }, target)) {
    signal.throwIfAborted();
    for (const record of records) {
      parts.push(writer.line(record, count === 0));
      count += 1;
    }
    onProgress(count);
  }
  parts.push(writer.foot);
  const type = exportFormats.find(({ value }) => value === format)?.type ?? '';
  saveBlob(new Blob(parts, { type }), `${name}.${format}`);
  return count;
}

interface Writer {
  readonly head: string;
  readonly line: (record: RecordModel, isFirst: boolean) => string;
  readonly foot: string;
}

const writers: Readonly<Record<ExportFormat, (fields: readonly string[], collection: Collection) => Writer>> =
  {
    csv: (names, { fields }) => {
      const columns = names.map((name) => ({ name, field: fields.find((one) => one.name === name) }));
      return {
        head: formatCsvLine(names),
        line: (record) => formatCsvLine(columns.map(({ name, field }) => cellOf(record[name], field))),
        foot: '',
      };
    },
    json: () => ({
      head: '[',
      line: (record, isFirst) => `${isFirst ? '\n' : ',\n'}  ${JSON.stringify(record)}`,
      foot: '\n]\n',
    }),
    ndjson: () => ({ head: '', line: (record) => `${JSON.stringify(record)}\n`, foot: '' }),
  };

/** The cell that an import reads as this value. */
function cellOf(value: unknown, field: Field | undefined): string {
  if (value === undefined) return '';
  // In a column of JSON a text is JSON too, and null is not the same as nothing.
  if (field?.type === 'json') return JSON.stringify(value);
  if (value === null) return '';
  return typeof value === 'string' ? cellOfText(value) : JSON.stringify(value);
}
