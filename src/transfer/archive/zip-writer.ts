import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { ContentDigest } from './archive-format.ts';

export interface WrittenPart {
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes a zip file, a part after the other, at the pace of who reads it. */
export class ZipWriter {
  readonly #zip = new ZipFile();
  readonly #written: Promise<void>;

  /** Ends `to` when the file is whole, and destroys it when that fails. */
  constructor(to: Writable) {
    // The types of yazl know it as the interface of readable streams.
    this.#written = pipeline(this.#zip.outputStream as Readable, to);
    // `add` and `end` reject with it.
    this.#written.catch(() => undefined);
  }

  /** Rejects with the error of `content`, or of the file. */
  async add(
    name: string,
    content: AsyncIterable<Uint8Array>,
    { isCompressed = true }: { readonly isCompressed?: boolean } = {},
  ): Promise<WrittenPart> {
    const digest = new ContentDigest();
    const stream = Readable.from(noting(content, digest), { objectMode: false });
    const ended = once(stream, 'end');
    // The length is not known before: with the larger form of sizes, none is too long.
    this.#zip.addReadStream(stream, name, { compress: isCompressed, forceZip64Format: true });
    await Promise.race([ended, this.#written.then(() => Promise.reject(new Error('the file has ended')))]);
    return { bytes: digest.bytes, sha256: digest.end() };
  }

  /** Resolves when all was taken. */
  async end(): Promise<void> {
    this.#zip.end();
    await this.#written;
  }

  /** Gives the file up. */
  async abort(): Promise<void> {
    const { outputStream } = this.#zip;
    // As in the constructor.
    (outputStream as Readable).destroy();
    await Promise.allSettled([this.#written]);
  }
}

async function* noting(
  content: AsyncIterable<Uint8Array>,
  digest: ContentDigest,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    digest.note(piece);
    yield piece;
  }
}
