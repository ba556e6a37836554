import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busy } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type Holding, Ledger } from '../base/ledger.ts';
import { Pieces } from '../base/pieces.ts';
import { codeOf, openFilesMax } from '../base/process.ts';
import { NewFile } from '../fields/new-file.ts';
import { BytesDigest } from '../secrets/digest.ts';
import { toDiskError } from '../storage/engine-errors.ts';
import { measureFiles, takeFileRoom } from './file-quota.ts';
import { dueAt, type FilesInstance, noteRemovals, removalTimes } from './file-removals.ts';
import { detectType, headBytesMax, isMediaType } from './media-type.ts';
import { storedName } from './stored-name.ts';

export const uploadLimits = {
  /** Bytes of one write to the disk. So much of each upload is held in memory. */
  blockBytes: 64 * 1024,
  /** Files that are written at the same time, by all requests. */
  writingMax: Math.min(1_000, Math.max(16, Math.floor(openFilesMax() / 8))),
} as const;

/** Uploads of one request that are put into the store at the same time. */
const parallelMax = 4;

const writing = new Ledger({ max: uploadLimits.writingMax });

/** A file of a request. Its bytes lie in the folder for uploads until they are put into the store. */
export class UploadedFile extends NewFile {
  /** Where its bytes are on the local disk. */
  readonly path: string;
  /** Whether all of its bytes are there: not of one that is larger than it may be. */
  readonly isComplete: boolean;
  /** The key under which it is to be stored, once it is known which record is to name it. */
  key: string | undefined;
  readonly type: string;
  readonly #digest: string;

  constructor(
    file: Pick<UploadedFile, 'name' | 'originalName' | 'size' | 'path' | 'isComplete' | 'type'>,
    digest: string,
  ) {
    super(file);
    this.path = file.path;
    this.isComplete = file.isComplete;
    this.type = file.type;
    this.#digest = digest;
  }

  override isOfType(type: string): boolean {
    return isMediaType(this.type, type);
  }

  /** Identifies its content, for a request with an Idempotency-Key. */
  toJSON(): object {
    return { file: this.originalName, digest: this.#digest };
  }
}

export interface ReceivedFile {
  /** As the client calls it. */
  readonly originalName: string;
  /** Read to its end. */
  readonly content: AsyncIterable<Buffer>;
  /** What is beyond is not kept, and the file is not complete. */
  readonly bytesMax: number;
}

export interface UploadsOptions {
  /** Whether files of two requests will be compared. */
  readonly isDigested: boolean;
  /** Called before a file is received that is to stay on the disk. Throws where it may not. */
  readonly requireRoom?: () => void;
}

/**
 * The files of one request, from the first byte to the record.
 *
 *   receive ──► a file in the folder for uploads ──► place: noted for removal, then put into the store ──► the record is written
 *      └─────────────────────────────────────────────────────── discard ◄───────────────────────────────────────────┘
 */
export class Uploads {
  readonly #instance: FilesInstance;
  readonly #options: UploadsOptions;
  readonly #files: UploadedFile[] = [];
  readonly #paths: string[] = [];
  #placed: readonly string[] = [];

  constructor(instance: FilesInstance, options: UploadsOptions) {
    this.#instance = instance;
    this.#options = options;
  }

  /** Whether any file has a place with a record. */
  get hasPlaces(): boolean {
    return this.#files.some(({ key }) => key !== undefined);
  }

  /** Writes a file to the disk as it comes in. Throws storage_full, and unavailable when too many are being written. */
  async receive(file: ReceivedFile): Promise<UploadedFile> {
    const { files } = this.#instance;
    if (files.store === files.disk) this.#options.requireRoom?.();
    const path = join(this.#instance.files.uploadFolder, `${newId()}.upload`);
    this.#paths.push(path);
    const { size, head, digest } = await this.#write(path, file)
      .catch(explained)
      .catch((error: unknown) => this.#instance.files.fail(error));
    const { originalName, bytesMax } = file;
    const type = await detectType(head, originalName);
    const isComplete = size <= bytesMax;
    const name = storedName(originalName, type);
    const uploaded = new UploadedFile({ name, originalName, size, path, isComplete, type }, digest);
    this.#files.push(uploaded);
    return uploaded;
  }

  async #write(path: string, { content, bytesMax }: ReceivedFile): Promise<Written> {
    const hash = this.#options.isDigested ? new BytesDigest() : undefined;
    const pieces = new Pieces();
    let head: Buffer | undefined;
    let size = 0;
    await using file = new UploadFile(path, this.#instance.id);
    for await (const piece of content) {
      size += piece.length;
      hash?.add(piece);
      if (size > bytesMax) continue;
      pieces.add(piece);
      if (pieces.length < uploadLimits.blockBytes) continue;
      const block = pieces.take();
      head ??= Buffer.from(block.subarray(0, headBytesMax));
      await file.write(block);
    }
    const rest = pieces.take();
    await file.write(rest);
    return { size, head: head ?? rest.subarray(0, headBytesMax), digest: hash?.end() ?? '' };
  }

  /**
   * Puts the files that have a key into the store, before the transaction that writes their records: once a record names one, it is
   * there. They are noted for removal first, so that whatever becomes of the request none stays for long without a record.
   */
  async place(): Promise<void> {
    const { database, files, dueClock } = this.#instance;
    const destined = this.#files.filter(({ key }) => key !== undefined);
    const due = dueClock.now() + removalTimes.unclaimedMs;
    this.#placed = destined.flatMap(({ key }) => key ?? []);
    const isLimited = this.#instance.quotas().fileBytes !== undefined;
    if (isLimited) await measureFiles(this.#instance);
    const bytes = destined.reduce((sum, { size }) => sum + size, 0);
    await database.write(async (tx) => {
      await noteRemovals(tx, this.#placed, due);
      await takeFileRoom(tx, bytes);
      tx.afterCommit(() => files.noteDue(due));
    });
    const waiting = destined.values();
    const putNext = async (): Promise<void> => {
      for (const { key, path, size, type } of waiting)
        if (key !== undefined) await files.store.put(key, { path, size, type });
    };
    // All have ended before the request is refused: a file that was removed meanwhile would come back.
    const ends = await Promise.allSettled(Array.from({ length: parallelMax }, putNext));
    for (const end of ends) if (end.status === 'rejected') files.fail(end.reason);
  }

  /** Lets go of the placed files that no record names: the records were refused, or the request was answered before. */
  async release(): Promise<void> {
    const { database, files, dueClock } = this.#instance;
    if (this.#placed.length === 0) return;
    const now = dueClock.now();
    await database.write(async (tx) => {
      await dueAt(tx, this.#placed, now);
      tx.afterCommit(() => files.noteDue(now));
    });
  }

  /** Removes leftover files from the folder for uploads. */
  async discard(): Promise<void> {
    for (const path of this.#paths) await rm(path, { force: true });
  }
}

interface Written {
  readonly size: number;
  /** The first bytes. */
  readonly head: Buffer;
  readonly digest: string;
}

/** A file that is opened by the first write to it: most uploads are small, and a client that sends slowly holds no open file until then. */
class UploadFile {
  readonly #path: string;
  readonly #instance: string;
  #handle: FileHandle | undefined;
  #holding: Holding | undefined;
  #length = 0;

  constructor(path: string, instance: string) {
    this.#path = path;
    this.#instance = instance;
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.#handle === undefined) {
      this.#holding ??= writing.tryToHold({ instance: this.#instance, address: '' }, 1);
      if (this.#holding === undefined) throw busy();
      this.#handle = await openNew(this.#path);
    }
    for (let at = 0; at < bytes.length;) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at, this.#length);
      at += bytesWritten;
      this.#length += bytesWritten;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
    if (this.#holding !== undefined) writing.release(this.#holding);
  }
}

async function openNew(path: string): Promise<FileHandle> {
  const make = (): Promise<FileHandle> => open(path, 'wx', 0o600);
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
    return make();
  }
}

function explained(error: unknown): never {
  const code = codeOf(error);
  if (code === 'EMFILE' || code === 'ENFILE') throw busy(error);
  throw toDiskError(error);
}
