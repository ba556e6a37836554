import { createReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { Command, Option } from 'commander';
import { printable } from '../../base/printable.ts';
import { ConfigError } from '../../config/config-error.ts';
import { ApiRefusal, refusedValues } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print, showLine, untilInterrupted } from '../terminal/print.ts';
import { formatOf, type InputRow, readRows, readShapes, type RowFormat, rowFormats } from './record-rows.ts';
import { failedRow, RecordSender, type RecordSenderOptions } from './record-sender.ts';
import { showJson } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** A batch as it is sent: as many records as a service takes by default, and not more than it reads at once. */
const batchRowsMax = 50;
const batchLengthMax = 4 * 1024 * 1024;
/** Refused records that the summary names; each is told as it comes. */
const refusalsKept = 1_000;

/** `record import` */
export function recordImport(io: CommandIo): Command {
  const command = new Command('import').description('create records from a file');
  command
    .argument('<collection>')
    .argument('<file>', 'CSV, JSON or a JSON object on each line; - is standard input');
  command.addOption(
    new Option('--format <FORMAT>', 'where the name of the file does not say it').choices(rowFormats),
  );
  command.option('--upsert', 'update records whose ids exist already');
  command.option('--atomic', 'import all or nothing');
  command.option('--raw', 'of CSV: leave the apostrophe before = + - @ in texts');
  addApiFlags(command);
  command.action(async (collection: string, file: string) => {
    const format = textOf(command, 'format') ?? formatOf(file);
    if (format === undefined)
      throw new ConfigError(`Which format has ${file}? Give --format ${rowFormats.join(', ')}.`);
    const [isUpsert, isAtomic, isJson, isRaw = false] = ['upsert', 'atomic', 'json', 'raw'].map((name) =>
      isSet(command, name),
    );
    const summary = await untilInterrupted(io, (interrupt) =>
      withApi(command, io, async (api) => {
        const shapes = await readShapes(api, collection);
        const pieces = textOfStream(file === '-' ? io.stdin : createReadStream(file), interrupt);
        // Checked by `choices` and `formatOf`.
        const rows = readRows(pieces, { format: format as RowFormat, shapes, isRaw });
        const options = { api, collection, isUpsert: isUpsert === true };
        if (isAtomic === true) return importAtOnce(rows, options);
        return importRows(rows, new RecordSender(options), { io, interrupt });
      }),
    );
    await report(io, summary, { collection, isJson: isJson === true });
  });
  return command;
}

/** The texts of a stream. A Ctrl-C ends it, also while it waits for more. */
function textOfStream(stream: Readable, interrupt: AbortSignal): AsyncIterable<string> {
  const texts: AsyncIterable<string> = addAbortSignal(interrupt, stream.setEncoding('utf8'));
  return texts;
}

/** What became of the records of a file. */
interface ImportSummary {
  readonly imported: number;
  readonly refused: number;
  readonly refusals: readonly RefusedRow[];
  /** Of a Ctrl-C: the place of the last record that was sent, empty where none was. */
  readonly interruptedAfter?: string;
}

interface RefusedRow {
  readonly place: string;
  readonly reason: string;
}

/** Imports rows in batches, and goes on behind those that are refused. */
async function importRows(
  rows: AsyncIterable<InputRow>,
  sender: RecordSender,
  { io, interrupt }: { readonly io: CommandIo; readonly interrupt: AbortSignal },
): Promise<ImportSummary> {
  const refusals: RefusedRow[] = [];
  const counts = { imported: 0, refused: 0 };
  let last = '';
  const refuse = ({ place }: InputRow, reason: string): void => {
    counts.refused += 1;
    if (refusals.length < refusalsKept) refusals.push({ place, reason });
    showLine(io, '');
    note(io, `${printable(`${place}: ${reason}`)}\n`);
  };
  const send = async (batch: readonly InputRow[]): Promise<void> => {
    counts.imported += await sender.send(batch, refuse);
    last = batch.at(-1)?.place ?? last;
    showLine(io, `${counts.imported} records imported, ${counts.refused} refused`);
  };
  try {
    for await (const batch of batchesOf(rows, refuse)) {
      await send(batch);
      if (interrupt.aborted) break;
    }
  } catch (error) {
    showLine(io, '');
    if (!interrupt.aborted) throw withProgress(error, counts.imported, last);
  }
  showLine(io, '');
  return { ...counts, refusals, ...(interrupt.aborted && { interruptedAfter: last }) };
}

type Refuse = (row: InputRow, reason: string) => void;

/** Gathers rows that are records. */
async function* batchesOf(
  rows: AsyncIterable<InputRow>,
  refuse: Refuse,
): AsyncGenerator<readonly InputRow[]> {
  let batch: InputRow[] = [];
  let length = 0;
  for await (const row of rows) {
    if (row.problem !== undefined) {
      refuse(row, row.problem);
      continue;
    }
    const rowLength = JSON.stringify(row.values).length;
    if (batch.length === batchRowsMax || (batch.length > 0 && length + rowLength > batchLengthMax)) {
      yield batch;
      [batch, length] = [[], 0];
    }
    batch.push(row);
    length += rowLength;
  }
  if (batch.length > 0) yield batch;
}

/** Adds to an error what was done before it. */
function withProgress(error: unknown, imported: number, last: string): unknown {
  if (!(error instanceof CommandError)) return error;
  const until = last === '' ? 'Nothing was imported.' : `${imported} records were imported, up to ${last}.`;
  return new CommandError(error.exitCode, `${error.message} ${until}`, { cause: error });
}

/** Imports all rows in one transaction, or none of them. */
async function importAtOnce(
  rows: AsyncIterable<InputRow>,
  options: RecordSenderOptions,
): Promise<ImportSummary> {
  const all: InputRow[] = [];
  for await (const row of rows) {
    if (row.problem !== undefined) throw nothingImported(`${row.place}: ${row.problem}`);
    all.push(row);
  }
  if (all.length === 0) return { imported: 0, refused: 0, refusals: [] };
  try {
    await new RecordSender(options).sendBatch(all);
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const failed = failedRow(error, all);
    if (failed !== undefined) throw nothingImported(`${failed.row.place}: ${failed.reason}`, error);
    const isTooMany = refusedValues(error.details).some(({ name }) => name === 'requests');
    if (!isTooMany) throw error;
    const hint = 'see batch.maxRequests in the settings, or import without --atomic';
    throw nothingImported(`There are ${all.length} records, more than a batch may have: ${hint}.`, error);
  }
  return { imported: all.length, refused: 0, refusals: [] };
}

function nothingImported(reason: string, cause?: unknown): CommandError {
  return new CommandError(exitCodes.refused, printable(`${reason} Nothing was imported.`), { cause });
}

async function report(
  io: CommandIo,
  { imported, refused, refusals, interruptedAfter }: ImportSummary,
  { collection, isJson }: { readonly collection: string; readonly isJson: boolean },
): Promise<void> {
  const isInterrupted = interruptedAfter !== undefined;
  if (isJson) await showJson(io, { imported, refused, refusals, ...(isInterrupted && { interruptedAfter }) });
  else {
    const until = isInterrupted && interruptedAfter !== '' ? `, up to ${interruptedAfter}` : '';
    const rest = refused === 0 ? '' : `; ${refused} were refused`;
    await print(io, `Imported ${imported} records into ${printable(collection)}${until}${rest}.\n`);
  }
  if (isInterrupted) throw new CommandError(exitCodes.interrupted, '');
  if (refused > 0) throw new CommandError(exitCodes.refused, '');
}
