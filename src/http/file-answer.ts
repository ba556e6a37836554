import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { AppError, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { type BlobState, type BlobStore, type ByteRange, readBytes } from '../files/blob-store.ts';
import { detectType, headBytesMax } from '../files/media-type.ts';
import type { Answer } from './answer.ts';
import { parseRanges } from './byte-ranges.ts';
import { httpLimits } from './connections.ts';
import { errorEnvelope } from './error-response.ts';
import { isAlreadyKnown } from './record-answer.ts';
import type { Content } from './send-content.ts';

/** A file that is there, and how it is to be sent. */
export interface FileToSend {
  readonly store: Pick<BlobStore, 'read'>;
  readonly key: string;
  readonly state: BlobState;
  /** What a client may call it. */
  readonly name: string;
  readonly isProtected: boolean;
  /** Whether a browser is to store it rather than show it. */
  readonly isDownload: boolean;
}

export interface FileRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Answers with a file, a part of it, or that the client has it already (RFC 9110 sections 13 and 14). Throws not_found. */
export async function fileAnswer({ method, headers }: FileRequest, file: FileToSend): Promise<Answer> {
  const { state, isProtected } = file;
  // A stored file never changes, so its tag is strong.
  const etag = `"${state.size.toString(36)}-${state.modifiedMs.toString(36)}"`;
  const modified = new Date(state.modifiedMs).toUTCString();
  const validators = {
    ...alwaysSent,
    etag,
    'last-modified': modified,
    'cache-control': isProtected ? 'private, no-store' : 'max-age=2592000, stale-while-revalidate=86400',
  };
  const isFresh =
    headers['if-none-match'] === undefined
      ? isNotModified(headers['if-modified-since'], state)
      : isAlreadyKnown(headers['if-none-match'], etag);
  if (isFresh) return { status: 304, headers: validators };
  const isSame = headers['if-range'] === undefined || [etag, modified].includes(String(headers['if-range']));
  const ranges = method === 'GET' && isSame ? parseRanges(headers.range, state.size) : undefined;
  if (ranges?.length === 0) return notSatisfiable(state.size);
  const { type, whole } = await readKind(file);
  const described = {
    ...validators,
    'accept-ranges': 'bytes',
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-disposition': disposition(file, type),
  };
  const part = await partOf(file, {
    ranges,
    type: described['content-type'],
    whole,
    isHead: method === 'HEAD',
  });
  return { ...part, headers: { ...described, ...part.headers } };
}

/** The headers of every file, in place of those for data: it may be shown on any page, and does nothing there. */
const alwaysSent = {
  'content-security-policy': "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  // It does not depend on the caller: an address tells all.
  vary: 'Origin',
  'x-frame-options': '',
};

function isNotModified(since: string | undefined, { modifiedMs }: BlobState): boolean {
  // The header knows no fractions of a second. An invalid date compares as false.
  return since !== undefined && Math.floor(modifiedMs / 1_000) * 1_000 <= Date.parse(since);
}

function notSatisfiable(size: number): Answer {
  const error = new AppError('range_not_satisfiable', 'The file has no such bytes.');
  const { status, ...rest } = errorEnvelope(error);
  return {
    status,
    json: JSON.stringify({ ...rest, status }),
    headers: { 'content-range': `bytes */${size}` },
  };
}

interface Kind {
  readonly type: string;
  /** All bytes of a small file, which are read at once with those that tell its type. */
  readonly whole?: Uint8Array;
}

async function readKind({ store, key, state, name }: FileToSend): Promise<Kind> {
  if (state.type !== undefined) return { type: state.type };
  const { size } = state;
  const isSmall = size <= httpLimits.smallAnswerBytesMax;
  const length = isSmall ? size : headBytesMax;
  const head = size === 0 ? Buffer.alloc(0) : await readBytes(store, key, { first: 0, last: length - 1 });
  if (head === undefined) throw notFound();
  const type = await detectType(head, name);
  return isSmall ? { type, whole: head } : { type };
}

/** Opens a file. Throws not_found when it has just been removed. */
async function open(store: Pick<BlobStore, 'read'>, key: string, range?: ByteRange): Promise<Readable> {
  const stream = await store.read(key, range);
  if (stream === undefined) throw notFound();
  return stream;
}

interface Part {
  readonly type: string;
  readonly whole: Uint8Array | undefined;
  readonly ranges: readonly ByteRange[] | undefined;
  readonly isHead: boolean;
}

async function partOf(file: FileToSend, { ranges, type, whole, isHead }: Part): Promise<Answer> {
  const { size } = file.state;
  const [range] = ranges ?? [];
  if (range === undefined)
    return { status: 200, content: await contentOf(file, { whole, isHead, length: size }) };
  if (ranges?.length === 1) {
    const { first, last } = range;
    const content = await contentOf(file, { whole, range, isHead, length: last - first + 1 });
    return { status: 206, content, headers: { 'content-range': rangeText(range, size) } };
  }
  return severalParts(file, ranges ?? [], { type, ...(whole && { whole }) });
}

interface Extent {
  readonly whole: Uint8Array | undefined;
  readonly range?: ByteRange;
  readonly isHead: boolean;
  readonly length: number;
}

async function contentOf(
  { store, key }: FileToSend,
  { whole, range, isHead, length }: Extent,
): Promise<Content> {
  if (isHead || length === 0) return { length };
  if (whole === undefined) return { length, body: await open(store, key, range), isFile: true };
  const body = range === undefined ? whole : whole.subarray(range.first, range.last + 1);
  return { length, body, isFile: true };
}

function rangeText({ first, last }: ByteRange, size: number): string {
  return `bytes ${first}-${last}/${size}`;
}

/** Several ranges as the parts of one body (RFC 9110 section 14.6). */
function severalParts(file: FileToSend, ranges: readonly ByteRange[], { type, whole }: Kind): Answer {
  const boundary = newId();
  const parts = ranges.map((range) => ({
    range,
    head: `\r\n--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${rangeText(range, file.state.size)}\r\n\r\n`,
  }));
  const end = `\r\n--${boundary}--\r\n`;
  const length = parts.reduce(
    (sum, { head, range }) => sum + head.length + range.last - range.first + 1,
    end.length,
  );
  const write = async function* (): AsyncIterable<Uint8Array> {
    for (const { head, range } of parts) {
      yield Buffer.from(head);
      if (whole !== undefined) yield whole.subarray(range.first, range.last + 1);
      else yield* await open(file.store, file.key, range);
    }
    yield Buffer.from(end);
  };
  return {
    status: 206,
    content: { length, body: Readable.from(write(), { objectMode: false }), isFile: true },
    headers: { 'content-type': `multipart/byteranges; boundary=${boundary}` },
  };
}

/** Types that a browser may show: none of them is a document that could run anything. */
const inlineTypes: ReadonlySet<string> = new Set([
  ...['avif', 'bmp', 'gif', 'jpeg', 'png', 'webp', 'x-icon'].map((type) => `image/${type}`),
  ...['3gpp', 'matroska', 'mp4', 'ogg', 'quicktime', 'webm', 'x-m4v', 'x-ms-wmv'].map(
    (type) => `video/${type}`,
  ),
  ...['aac', 'aiff', 'basic', 'flac', 'midi', 'mp4', 'mpeg', 'ogg', 'wav', 'x-m4a'].map(
    (type) => `audio/${type}`,
  ),
  'application/pdf',
]);

/** Returns the header for a name of any characters (RFC 6266): clients that know `filename*` prefer it. */
function disposition({ name, isDownload }: FileToSend, type: string): string {
  const kind = !isDownload && inlineTypes.has(type) ? 'inline' : 'attachment';
  if (/^[\w!#$&+.^`|~-]+$/.test(name)) return `${kind}; filename="${name}"`;
  const plain = name.replaceAll(/[^ !#-$&-[\]-~]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
