import type { RecordModel } from '../../api/client.ts';
import { readPages, type Target } from './bulk-work.ts';
import { formatCsvLine } from './csv.ts';

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

interface ExportOptions {
  readonly collection: string;
  readonly format: ExportFormat;
  /** The columns of CSV; JSON has all members. */
  readonly fields: readonly string[];
  readonly signal: AbortSignal;
  readonly onProgress: (count: number) => void;
}

/** Reads the records of a target page by page into a file, and hands that to the browser. */
export async function exportRecords(target: Target, options: ExportOptions): Promise<number> {
  const { collection, format, fields, signal, onProgress } = options;
  const writer = writers[format](fields);
  // A blob of parts, which the browser keeps on disk when they are many.
  const parts: string[] = [writer.head];
  let count = 0;
  for await (const records of readPages({ collection, signal }, target)) {
    signal.throwIfAborted();
    for (const record of records) {
      parts.push(writer.line(record, count === 0));
      count += 1;
    }
    onProgress(count);
  }
  parts.push(writer.foot);
  const type = exportFormats.find(({ value }) => value === format)?.type ?? '';
  save(new Blob(parts, { type }), `${collection}.${format}`);
  return count;
}

interface Writer {
  readonly head: string;
  readonly line: (record: RecordModel, isFirst: boolean) => string;
  readonly foot: string;
}

const writers: Readonly<Record<ExportFormat, (fields: readonly string[]) => Writer>> = {
  csv: (fields) => ({
    head: formatCsvLine(fields),
    line: (record) => formatCsvLine(fields.map((name) => record[name])),
    foot: '',
  }),
  json: () => ({
    head: '[',
    line: (record, isFirst) => `${isFirst ? '\n' : ',\n'}  ${JSON.stringify(record)}`,
    foot: '\n]\n',
  }),
  ndjson: () => ({ head: '', line: (record) => `${JSON.stringify(record)}\n`, foot: '' }),
};

const kept = 60_000;

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), kept);
}
