import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { ContentDigest, isPartName, manifestName, partsName, refusedArchive } from './archive-format.ts';

/** More parts than this are refused: each takes memory. */
const entriesMax = 2_000_000;

/** The bits of the attributes that Unix adds which make a symbolic link. */
const linkMode = 0o120000;
const typeMask = 0o170000;

/** Reads a zip file that holds nothing but what an archive may hold. */
export class ZipReader {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** Throws bad_request for a file that is no archive. */
  static async open(path: string): Promise<ZipReader> {
    const options = { lazyEntries: true, autoClose: false, validateEntrySizes: true, strictFileNames: true };
    const zip = await openPromise(path, options).catch((error: unknown) => {
      throw refusedArchive(`${reasonOf(error)}.`, error);
    });
    try {
      return new ZipReader(zip, await readEntries(zip));
    } catch (error) {
      zip.close();
      throw error;
    }
  }

  /** The sizes of all contents together, in bytes: what they claim to have is what is read of them at most. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  }

  /** The names of all parts. */
  get names(): ReadonlySet<string> {
    return new Set(this.#entries.keys());
  }

  /** Reads a content into memory. Throws bad_request where it is missing, damaged or larger. */
  async readWhole(name: string, bytesMax: number): Promise<Buffer> {
    const entry = this.#find(name);
    if (entry.uncompressedSize > bytesMax) throw refusedArchive(`${name} is too large.`);
    return buffer(this.read(name, new ContentDigest()));
  }

  /** Reads a content, and notes it in `digest`. Throws bad_request where it is missing or damaged. */
  async *read(name: string, digest: ContentDigest): AsyncGenerator<Buffer> {
    let stream: Readable | undefined;
    try {
      stream = await this.#zip.openReadStreamPromise(this.#find(name));
      for await (const piece of stream) {
        // A stream of bytes.
        const bytes = piece as Buffer;
        digest.note(bytes);
        yield bytes;
      }
    } catch (error) {
      throw isRefusal(error) ? error : refusedArchive(`${name} is damaged: ${reasonOf(error)}.`, error);
    } finally {
      stream?.destroy();
    }
  }

  close(): void {
    this.#zip.close();
  }

  #find(name: string): Entry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw refusedArchive(`${name} is missing.`);
    return entry;
  }
}

async function readEntries(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  if (zip.entryCount > entriesMax) throw refusedArchive('it has too many parts.');
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) {
      requireEntry(entry);
      if (entries.has(entry.fileName)) throw refusedArchive(`${entry.fileName} is in it twice.`);
      entries.set(entry.fileName, entry);
    }
  } catch (error) {
    throw isRefusal(error) ? error : refusedArchive(`${reasonOf(error)}.`, error);
  }
  return entries;
}

function requireEntry(entry: Entry): void {
  const { fileName } = entry;
  if (fileName !== partsName && fileName !== manifestName && !isPartName(fileName))
    throw refusedArchive(`${JSON.stringify(fileName)} is no part of an archive.`);
  if (((entry.externalFileAttributes >>> 16) & typeMask) === linkMode)
    throw refusedArchive(`${fileName} is a link.`);
  if (!entry.canDecodeFileData())
    throw refusedArchive(`${fileName} is encrypted or compressed in an unknown way.`);
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'AppError';
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\.$/, '');
}
