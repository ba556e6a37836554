import type { Readable } from 'node:stream';
import { assert } from '../base/assert.ts';
import type { GuardedAnswer } from '../network/guarded-requests.ts';
import {
  type BlobSource,
  type BlobState,
  type BlobStore,
  type ByteRange,
  isBlobName,
  type ListedBlob,
  thumbsFolder,
} from './blob-store.ts';
import { type S3Client, S3Failure } from './s3-client.ts';
import { xmlElements } from './xml-elements.ts';

/** Larger files are sent in parts of this size, of which a store takes 10,000. */
const partBytes = 16 * 1024 * 1024;

/** How many files of a folder are removed at the same time. */
const removalsMax = 8;

/**
 * Files in a bucket, which any store that speaks the protocol of S3 may have. Their keys are those of the reference: a bucket that it has
 * filled can be used as it is.
 */
export class S3Store implements BlobStore {
  readonly #client: S3Client;

  constructor(client: S3Client) {
    this.#client = client;
  }

  async put(key: string, { path, size, type }: BlobSource): Promise<void> {
    checkKey(key);
    const headers = { 'content-type': type };
    if (size > partBytes) return this.#putInParts(key, { path, size, type });
    const body = size === 0 ? '' : { path, first: 0, last: size - 1 };
    await this.#done({ method: 'PUT', key, headers, body });
  }

  async find(key: string): Promise<BlobState | undefined> {
    checkKey(key);
    const { status, headers, discard } = await this.#client.send({ method: 'HEAD', key });
    await discard();
    if (status === 404) return undefined;
    const [size, modifiedMs] = [
      Number(headers['content-length']),
      Date.parse(String(headers['last-modified'])),
    ];
    if (!Number.isSafeInteger(size)) throw new S3Failure('The store does not report the length of a file.');
    const type = typeOf(headers['content-type']);
    return {
      size,
      modifiedMs: Number.isNaN(modifiedMs) ? 0 : modifiedMs,
      ...(type !== undefined && { type }),
    };
  }

  async read(key: string, range?: ByteRange): Promise<Readable | undefined> {
    checkKey(key);
    const headers = range === undefined ? {} : { range: `bytes=${range.first}-${range.last}` };
    const { status, body, discard } = await this.#client.send({ method: 'GET', key, headers });
    if (status === (range === undefined ? 200 : 206)) return body;
    await discard();
    if (status === 404) return undefined;
    throw new S3Failure('The store does not know ranges.');
  }

  async remove(key: string): Promise<void> {
    checkKey(key);
    await this.#delete(key);
    // Of a file of the reference that was copied from a disk.
    await this.#delete(`${key}.attrs`);
    await this.removeAll(thumbsFolder(key));
  }

  async removeAll(folder: string): Promise<void> {
    checkKey(folder);
    const keys: string[] = [];
    for await (const { key } of this.#listAll(`${folder}/`)) {
      keys.push(key);
      if (keys.length === removalsMax) await Promise.all(keys.splice(0).map((one) => this.#delete(one)));
    }
    await Promise.all(keys.map((one) => this.#delete(one)));
  }

  async *list(): AsyncIterable<ListedBlob> {
    for await (const blob of this.#listAll(''))
      if (/^[^/]+\/[^/]+\/[^/]+$/.test(blob.key) && !blob.key.endsWith('.attrs')) yield blob;
  }

  /** Lists the files of a folder but not those of folders in it; of the bucket itself for an empty name. */
  async *listFolder(folder: string): AsyncIterable<ListedBlob & Pick<BlobState, 'modifiedMs'>> {
    const prefix = folder === '' ? '' : `${folder}/`;
    for await (const blob of this.#listAll(prefix, { delimiter: '/' }))
      // Not every store knows delimiters.
      if (!blob.key.slice(prefix.length).includes('/')) yield blob;
  }

  async *#listAll(
    prefix: string,
    query: Readonly<Record<string, string>> = {},
  ): AsyncIterable<ListedBlob & Pick<BlobState, 'modifiedMs'>> {
    let continued = '';
    do {
      const xml = await this.#client.sendForText({
        method: 'GET',
        query: {
          'list-type': '2',
          // Otherwise names may have characters that XML cannot contain.
          'encoding-type': 'url',
          prefix,
          ...query,
          ...(continued !== '' && { 'continuation-token': continued }),
        },
      });
      const [page] = await xmlElements(xml, 'ListBucketResult');
      const isEncoded = page?.get('EncodingType') === 'url';
      for (const one of await xmlElements(xml, 'Contents')) {
        const key = one.get('Key') ?? '';
        yield {
          key: isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key,
          size: Number(one.get('Size')),
          modifiedMs: Date.parse(one.get('LastModified') ?? '') || 0,
        };
      }
      continued = page?.get('IsTruncated') === 'true' ? (page.get('NextContinuationToken') ?? '') : '';
    } while (continued !== '');
  }

  async #putInParts(key: string, { path, size, type }: BlobSource): Promise<void> {
    const headers = { 'content-type': type };
    const begun = await this.#client.sendForText({ method: 'POST', key, query: { uploads: '' }, headers });
    const uploadId = (await xmlElements(begun, 'InitiateMultipartUploadResult'))[0]?.get('UploadId');
    if (uploadId === undefined) throw new S3Failure('The store does not support multipart uploads.');
    try {
      let parts = '';
      for (let first = 0, number = 1; first < size; first += partBytes, number += 1) {
        const body = { path, first, last: Math.min(first + partBytes, size) - 1 };
        const query = { partNumber: String(number), uploadId };
        const { etag } = (await this.#done({ method: 'PUT', key, query, body })).headers;
        parts += `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(String(etag))}</ETag></Part>`;
      }
      const body = `<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`;
      await this.#client.sendForText({ method: 'POST', key, query: { uploadId }, body });
    } catch (error) {
      // Uploaded parts cost money until the upload is aborted.
      await this.#delete(key, { uploadId }).catch(() => undefined);
      throw error;
    }
  }

  async #delete(key: string, query: Readonly<Record<string, string>> = {}): Promise<void> {
    const { discard } = await this.#client.send({ method: 'DELETE', key, query });
    await discard();
  }

  /** Sends a request whose answer has no body, and which finds a bucket or nothing at all. */
  async #done(request: Parameters<S3Client['send']>[0]): Promise<GuardedAnswer> {
    const answer = await this.#client.send(request);
    await answer.discard();
    if (answer.status === 404) throw new S3Failure('The store has no such bucket.');
    return answer;
  }
}

function checkKey(key: string): void {
  // What a client sends is checked before: a key that leads elsewhere is a fault of ours.
  assert(key.split('/').every(isBlobName), 'a key is made of names');
}

/** Returns the media type that the store has; undefined for its default of an unknown type. */
function typeOf(header: unknown): string | undefined {
  const type = /^([a-z]+\/[\w.+-]+)/.exec(String(header).toLowerCase())?.[1];
  return type === undefined || type.endsWith('/octet-stream') ? undefined : type;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
