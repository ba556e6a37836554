import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { newId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import { type Api, itemsOf, objectOf, recordsPath } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { csvLine } from './csv.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, print, printForPrograms, showLine, untilInterrupted } from '../terminal/print.ts';
import { formatOf, readShapes, type RowFormat, rowFormats } from './record-rows.ts';
import { cellText, type FieldShape } from './record-values.ts';
import { jsonText } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

const pageSize = 500;

/** `record export` */
export function recordExport(io: CommandIo): Command {
  const command = new Command('export').description('write all records to a file');
  command.argument('<collection>').argument('[file]', 'it is replaced; - is standard output', '-');
  command.addOption(
    new Option('--format <FORMAT>', 'where the name of the file does not say it, ndjson by default').choices(
      rowFormats,
    ),
  );
  command.option('--filter <FILTER>', 'which records');
  command.option('--sort <FIELDS>', 'in which order');
  command.option('--fields <NAMES>', 'only these fields, as "id,title"');
  command.option('--raw', 'of CSV: put no apostrophe before = + - @ in texts, which spreadsheets would run');
  addApiFlags(command);
  command.action(async (collection: string, file: string) => {
    // Checked by `choices`.
    const format = (textOf(command, 'format') as RowFormat | undefined) ?? formatOf(file) ?? 'ndjson';
    const query = {
      filter: textOf(command, 'filter'),
      sort: textOf(command, 'sort'),
      fields: textOf(command, 'fields'),
    };
    const count = await untilInterrupted(io, (interrupt) =>
      withApi(command, io, (api) =>
        writingTo(file, io, async (write) => {
          const shapes = format === 'csv' ? await readShapes(api, collection) : undefined;
          return exportRecords(
            { api, path: recordsPath(collection), query, interrupt, io },
            { format, shapes, isRaw: isSet(command, 'raw'), write },
          );
        }),
      ),
    );
    showLine(io, '');
    if (file !== '-') await print(io, `Exported ${count} records of ${collection} to ${file}.\n`);
  });
  return command;
}

/** Writes a text; resolves to false when nobody reads it any more. */
type Write = (text: string) => Promise<boolean>;

/** Runs `work` with what writes to a file, which has its name only once all of it is written and synced. */
async function writingTo<Result>(
  file: string,
  io: CommandIo,
  work: (write: Write) => Promise<Result>,
): Promise<Result> {
  if (file === '-') return work((text) => printForPrograms(io, text));
  const part = `${file}.${newId()}.part`;
  const handle = await open(part, 'wx', 0o600);
  try {
    const result = await work((text) => writeAll(handle, text));
    await handle.sync();
    await handle.close();
    await rename(part, file);
    return result;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}

async function writeAll(handle: FileHandle, text: string): Promise<boolean> {
  await handle.writeFile(text);
  return true;
}

/** Returns the columns of a table: those that were asked for, or all fields; undefined where the first record must show them. */
function columnsOf({ format, shapes }: Output, fields: string | undefined): readonly string[] | undefined {
  if (format !== 'csv') return undefined;
  if (fields !== undefined) return fields.split(',').map((name) => name.trim());
  return shapes?.filter(({ type }) => type !== 'password').map(({ name }) => name);
}

interface Export {
  readonly api: Api;
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly interrupt: AbortSignal;
  readonly io: CommandIo;
}

interface Output {
  readonly format: RowFormat;
  /** Of the fields, in CSV; undefined where the caller may not see them. */
  readonly shapes: readonly FieldShape[] | undefined;
  readonly isRaw: boolean;
  readonly write: Write;
}

/** Writes page after page behind a cursor, so that changes meanwhile neither repeat nor skip a record. */
async function exportRecords({ api, path, query, interrupt, io }: Export, output: Output): Promise<number> {
  const { format, write } = output;
  let columns = columnsOf(output, query['fields']);
  let count = 0;
  let cursor: unknown = '';
  if (columns !== undefined) await write(csvLine(columns));
  while (typeof cursor === 'string') {
    if (interrupt.aborted) throw new CommandError(exitCodes.interrupted, '');
    const page = await api.request('GET', path, { query: { ...query, cursor, perPage: pageSize } });
    const items = itemsOf(page);
    if (format === 'csv' && columns === undefined && items[0] !== undefined) {
      columns = Object.keys(withoutCollection(items[0]));
      await write(csvLine(columns));
    }
    const isRead = await write(pageText(items, { ...output, columns: columns ?? [], isFirst: count === 0 }));
    if (!isRead) return count;
    count += items.length;
    showLine(io, `${count} records exported`);
    cursor = objectOf(page)['nextCursor'];
  }
  if (format === 'json') await write(count === 0 ? '[]\n' : '\n]\n');
  return count;
}

interface PageForm extends Output {
  readonly columns: readonly string[];
  readonly isFirst: boolean;
}

function pageText(items: readonly JsonObject[], form: PageForm): string {
  const { format, columns, isFirst } = form;
  const records = items.map(withoutCollection);
  if (format === 'csv') return csvText(records, columns, form);
  const lines = records.map((record) => jsonText(record));
  if (format === 'ndjson') return lines.map((line) => `${line}\n`).join('');
  if (lines.length === 0) return '';
  return `${isFirst ? '[\n' : ',\n'}${lines.join(',\n')}`;
}

/** What every record of a collection has alike is no part of it: it may be imported into another one. */
function withoutCollection(record: JsonObject): JsonObject {
  const entries = Object.entries(record);
  return Object.fromEntries(entries.filter(([name]) => name !== 'collectionId' && name !== 'collectionName'));
}

function csvText(
  records: readonly JsonObject[],
  columns: readonly string[],
  { shapes, isRaw }: Output,
): string {
  const plans = columns.map((name) => ({ name, shape: shapes?.find((field) => field.name === name) }));
  return records
    .map((record) => csvLine(plans.map(({ name, shape }) => cellText(record[name], { shape, isRaw }))))
    .join('');
}
