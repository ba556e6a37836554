import { isJsonObject } from '../../base/json.ts';
import {
  archiveFormat,
  ContentDigest,
  type ArchivedFile,
  filePart,
  type Manifest,
  manifestName,
  type Part,
  partsName,
  refusedArchive,
  type ArchivedRows,
} from './archive-format.ts';
import { linesOf } from './archive-rows.ts';
import type { Migration } from '../../storage/migrate.ts';
import { layout, stepsOf } from './write-archive.ts';
import { ZipReader } from './zip-reader.ts';

const manifestBytesMax = 1024 * 1024;

/** What takes the content of an archive. */
export interface ArchiveTaker {
  /** Takes the rows of a part, piece by piece, as the lines that they are. */
  readonly rows: (part: ArchivedRows, pieces: AsyncIterable<readonly string[]>) => Promise<void>;
  /** Whether the file is there already, with the digest of its part. */
  readonly hasFile?: ((part: ArchivedFile) => Promise<boolean>) | undefined;
  readonly file: (part: ArchivedFile, content: AsyncIterable<Buffer>) => Promise<void>;
  /** Called after a part was taken, when its digest was found to be right. */
  readonly whole: (part: Part) => void;
}

/** An archive that is open to be read. Everything that it throws is a bad_request for an archive that is damaged or of another version. */
export class Archive {
  readonly manifest: Manifest;
  readonly #zip: ZipReader;
  #bytesRead = 0;

  private constructor(zip: ZipReader, manifest: Manifest) {
    this.#zip = zip;
    this.manifest = manifest;
  }

  static async open(path: string): Promise<Archive> {
    const zip = await ZipReader.open(path);
    try {
      const manifest = toManifest(
        parse((await zip.readWhole(manifestName, manifestBytesMax)).toString('utf8')),
      );
      return new Archive(zip, manifest);
    } catch (error) {
      zip.close();
      throw error;
    }
  }

  /** Whether its tables are of an older version. */
  get isOlder(): boolean {
    return this.manifest.layout !== layout;
  }

  /** The steps of its tables. */
  get steps(): readonly Migration[] {
    return stepsOf(this.manifest.layout) ?? [];
  }

  /** What it takes on the disk when it is read, about, in bytes. */
  get bytes(): number {
    return this.#zip.bytes;
  }

  /** How much of it was read, from 0 to 1. */
  get share(): number {
    return this.bytes === 0 ? 1 : Math.min(1, this.#bytesRead / this.bytes);
  }

  /** Reads all parts in their order, and checks each after it was taken, and that no other is in the archive. */
  async read(taker: ArchiveTaker): Promise<void> {
    const left = new Set(this.#zip.names);
    left.delete(manifestName);
    left.delete(partsName);
    await this.#checked(partsName, { sha256: this.manifest.parts }, async (content) => {
      for await (const line of linesOf(content)) {
        const part = toPart(parse(line));
        if (!left.delete(part.name)) throw refusedArchive(`${part.name} is missing, or listed twice.`);
        await this.#take(part, taker);
      }
    });
    const [other] = left;
    if (other !== undefined) throw refusedArchive(`${other} is not listed in it.`);
  }

  close(): void {
    this.#zip.close();
  }

  async #take(part: Part, taker: ArchiveTaker): Promise<void> {
    if (part.kind === 'file' && (await taker.hasFile?.(part)) === true) this.#bytesRead += part.bytes;
    else await this.#takeContent(part, taker);
    taker.whole(part);
  }

  async #takeContent(part: Part, taker: ArchiveTaker): Promise<void> {
    await this.#checked(part.name, part, (content) =>
      part.kind === 'file' ? taker.file(part, content) : takeRows(part, content, taker),
    );
  }

  async *#counted(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      this.#bytesRead += piece.length;
      yield piece;
    }
  }

  async #checked(
    name: string,
    { sha256, bytes }: { readonly sha256: string; readonly bytes?: number },
    take: (content: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<void> {
    const digest = new ContentDigest();
    await take(this.#counted(this.#zip.read(name, digest)));
    if (digest.end() !== sha256 || (bytes !== undefined && digest.bytes !== bytes))
      throw refusedArchive(`${name} was altered: its digest is another one.`);
  }
}

async function takeRows(
  part: ArchivedRows,
  content: AsyncIterable<Buffer>,
  taker: ArchiveTaker,
): Promise<void> {
  let count = 0;
  async function* pieces(): AsyncGenerator<readonly string[]> {
    for await (const piece of piecesOf(linesOf(content))) {
      count += piece.length;
      yield piece;
    }
  }
  await taker.rows(part, pieces());
  if (count !== part.rows) throw refusedArchive(`${part.name} has ${count} rows and not ${part.rows}.`);
}

const pieceRows = 500;
const pieceLength = 1024 * 1024;

async function* piecesOf(lines: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let piece: string[] = [];
  let length = 0;
  for await (const line of lines) {
    piece.push(line);
    length += line.length;
    if (piece.length < pieceRows && length < pieceLength) continue;
    yield piece;
    piece = [];
    length = 0;
  }
  if (piece.length > 0) yield piece;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refusedArchive('a part of it is no JSON.', error);
  }
}

function toManifest(value: unknown): Manifest {
  if (!isJsonObject(value) || typeof value['format'] !== 'number')
    throw refusedArchive('it has no manifest.');
  const of = `it was made by Chancery ${String(value['version'])}`;
  if (value['format'] !== archiveFormat)
    throw refusedArchive(`${of} in a format that this version does not know.`);
  if (stepsOf(String(value['layout'])) === undefined)
    throw refusedArchive(`${of}, which is newer than this version, or another branch of it: use that one.`);
  const { instance, key, counts, created, parts } = value;
  const isWhole =
    isJsonObject(instance) &&
    isJsonObject(instance['labels']) &&
    isJsonObject(key) &&
    isJsonObject(counts) &&
    isText(created) &&
    isText(parts);
  if (
    !isWhole ||
    ![
      instance['id'],
      instance['shownId'],
      value['mac'],
      instance['slug'],
      instance['created'],
      key['kind'],
      key['sealed'],
    ].every(isText)
  )
    throw refusedArchive('its manifest is not whole.');
  // Its members were checked, but for counts and names that are only shown.
  return value as unknown as Manifest;
}

function toPart(value: unknown): Part {
  const isPart =
    isJsonObject(value) &&
    isText(value['name']) &&
    isText(value['sha256']) &&
    typeof value['bytes'] === 'number';
  if (!isPart) throw refusedArchive('its list of parts is damaged.');
  const { kind, columns } = value;
  const isFile =
    kind === 'file' &&
    value['name'] === filePart(String(value['key'])) &&
    typeof value['modified'] === 'number';
  const isRows = (kind === 'table' || kind === 'records') && isText(value['table']) && isColumns(columns);
  if (!isFile && !isRows) throw refusedArchive('its list of parts is damaged.');
  // As `toManifest`.
  return value as unknown as Part;
}

function isColumns(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((column) => Array.isArray(column) && isText(column[0]) && kinds.has(String(column[1])))
  );
}

const kinds: ReadonlySet<string> = new Set(['text', 'number', 'bytes']);

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
