import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { Readable, Transform, type TransformCallback } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { AppError } from '../base/errors.ts';
import { decodeUtf8 } from '../base/json.ts';
import { Pieces } from '../base/pieces.ts';
import { httpLimits } from './connections.ts';

const { formFieldsMax, partHeaderBytesMax, partHeaderLinesMax } = httpLimits;

/** Name and value of one field of a form. */
export type FormEntry = readonly [name: string, value: string];

/** The characters of RFC 2046 section 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

/** Header lines of a part by name in lower case, one character for each byte. */
type PartHeader = Readonly<Record<string, readonly string[]>>;

/** A part of a form that is a file. */
export interface FilePart {
  /** Of the field. */
  readonly name: string;
  /** As the client calls the file. */
  readonly originalName: string;
  /** To be read to its end. */
  readonly content: AsyncIterable<Buffer>;
}

export interface MultipartOptions {
  /** Takes a file. Without it files are refused. */
  readonly takeFile?: (file: FilePart) => Promise<void>;
  /** Called with the number of bytes of fields, which are buffered in memory. */
  readonly onBuffered?: (bytes: number) => void;
  /** Ends the reading, which then throws the reason. */
  readonly signal?: AbortSignal;
}

/**
 * Reads a `multipart/form-data` body (RFC 7578) as it comes in, and returns its fields. Where parsers are known to disagree about a part
 * it is refused, not skipped: a record without a field that was sent would be a wrong one. Throws bad_request for that, and what
 * `takeFile` throws. What is left of the body then is discarded.
 */
export async function parseMultipart(
  body: Readable,
  contentType: string,
  options: MultipartOptions = {},
): Promise<readonly FormEntry[]> {
  const boundary = parseParameters(contentType)?.get('boundary') ?? '';
  if (!BOUNDARY.test(boundary)) throw refusal('Expected a form with one boundary.');
  // The parser does not report what it leaves out of a header, so it keeps more than a header may have. Its type lacks the first.
  const headerLimits = { maxHeaderSize: 2 * partHeaderBytesMax, maxHeaderPairs: partHeaderLinesMax + 1 };
  const parser = new Dicer({ boundary, ...headerLimits });
  // Not by its destruction with an error, which it does not report once all of the body was written to it.
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => parser.destroy());
  parser.on('error', failure.reject);
  options.signal?.addEventListener('abort', () => failure.reject(options.signal?.reason), { once: true });
  const parts: Dicer.PartStream[] = [];
  const entries: Promise<FormEntry | undefined>[] = [];
  parser.on('part', (part) => {
    part.on('error', () => undefined);
    const isTooMany = parts.length === formFieldsMax;
    if (isTooMany) failure.reject(refusal(`Expected a form of at most ${formFieldsMax} fields.`));
    if (isTooMany || parser.destroyed) {
      part.resume();
      return;
    }
    parts.push(part);
    // One after the other: the files of one piece of the body would otherwise all be open at once.
    const entry = readPart(part, entries.at(-1), options);
    entry.catch(failure.reject);
    entries.push(entry);
  });
  try {
    await feed(body, parser, failure.promise);
    return (await Promise.all(entries)).filter((entry) => entry !== undefined);
  } catch (error) {
    parser.destroy();
    for (const part of parts) part.destroy();
    await Promise.allSettled(entries);
    if (error instanceof AppError) throw error;
    throw new AppError('bad_request', 'The form is not valid multipart/form-data.', { cause: error });
  }
}

/**
 * Passes a body on, no faster than it is taken, until the parser has finished or failed. The body is not destroyed then, as its
 * connection is still to be answered.
 */
async function feed(body: Readable, parser: Dicer, failure: Promise<never>): Promise<void> {
  const ended = Promise.withResolvers<never>();
  const end = (): void => {
    if (!body.readableEnded) ended.reject(new Error('the body has ended early', { cause: body.errored }));
  };
  body.once('error', end);
  body.once('close', end);
  if (body.destroyed) end();
  const finished = once(parser, 'finish');
  const pacer = new Pacer();
  body.pipe(pacer).pipe(parser);
  try {
    await Promise.race([finished, failure, ended.promise]);
  } finally {
    body.off('close', end);
    body.unpipe(pacer);
    pacer.destroy();
    body.resume();
  }
}

/** In so many bytes are at most about 40 parts, which take less than a turn of the event loop may. */
const pieceBytes = 2 * 1024;
/** A piece of a file has no more of these by chance. */
const edgesMax = 16;
const edge = Buffer.from('\r\n--');

/** Passes a form on in small pieces where it has many parts, each in a turn of the event loop: a part takes a tenth of a millisecond. */
class Pacer extends Transform {
  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (!hasManyEdges(chunk)) return done(null, chunk);
    const pass = (at: number): void => {
      if (this.destroyed) return;
      this.push(chunk.subarray(at, at + pieceBytes));
      if (at + pieceBytes >= chunk.length) done();
      else setImmediate(pass, at + pieceBytes);
    };
    pass(0);
  }
}

function hasManyEdges(chunk: Buffer): boolean {
  let count = 0;
  for (let at = chunk.indexOf(edge); at !== -1; at = chunk.indexOf(edge, at + edge.length)) {
    count += 1;
    if (count > edgesMax) return true;
  }
  return false;
}

async function readPart(
  part: Dicer.PartStream,
  before: Promise<unknown> | undefined,
  { takeFile, onBuffered }: MultipartOptions,
): Promise<FormEntry | undefined> {
  let header: PartHeader | undefined;
  part.once('header', (parsed) => {
    // What the parser reports: it makes an array for each name.
    header = parsed as PartHeader;
  });
  await before;
  // No encoding is set, so the pieces are bytes.
  const pieces = part.iterator() as AsyncIterableIterator<Buffer>;
  const first = await pieces.next();
  if (header === undefined) throw refusal('A part of the form has no complete header.');
  const { name, originalName } = describePart(header);
  const content = first.done === true ? none : joined(first.value, pieces);
  if (originalName !== undefined) {
    if (takeFile === undefined) throw refusal(`Files are not taken here: ${quoted(name)} is one.`);
    await takeFile({ name, originalName, content });
    return undefined;
  }
  const buffer = new Pieces();
  for await (const piece of content) {
    onBuffered?.(piece.length);
    buffer.add(piece);
  }
  const value = decodeUtf8(buffer.take());
  if (value.includes('\0')) throw refusal(`The form field ${quoted(name)} contains U+0000.`);
  return [name, value];
}

const none: AsyncIterable<Buffer> = {
  [Symbol.asyncIterator]: () => Readable.from([])[Symbol.asyncIterator](),
};

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  yield first;
  yield* rest;
}

/**
 * Returns the name of the field that a part is, and that of its file if it is one. Throws bad_request for a part that is no field.
 */
function describePart(header: PartHeader): Partial<FilePart> & Pick<FilePart, 'name'> {
  const lines = Object.entries(header).flatMap(([name, values]) => values.map((value) => name + value));
  if (lines.length > partHeaderLinesMax || lines.join('').length > partHeaderBytesMax)
    throw refusal(`Expected at most ${partHeaderBytesMax} bytes as the header of a part of the form.`);
  const [disposition = '', another] = header['content-disposition'] ?? [];
  const parameters = /^form-data\s*(?:;|$)/i.test(disposition) ? parseParameters(disposition) : undefined;
  const bytes = parameters?.get('name');
  if (another !== undefined || bytes === undefined)
    throw refusal('Expected each part of the form to be a field with one name.');
  const name = decodeUtf8(Buffer.from(bytes, 'latin1'));
  const [encoding = '8bit'] = header['content-transfer-encoding'] ?? [];
  if (!/^(?:7bit|8bit|binary)\s*$/i.test(encoding))
    throw refusal(`The form field ${quoted(name)} must not be encoded.`);
  const extended = parameters?.get('filename*');
  // RFC 7578 forbids it, but every client in .NET sends it beside the other name, which then is a poor copy.
  if (extended !== undefined) {
    const originalName = decodeExtended(extended);
    if (originalName !== undefined) return { name, originalName };
    throw refusal(`The form field ${quoted(name)} has a malformed "filename*".`);
  }
  const file = parameters?.get('filename') ?? '';
  // An empty name is what a browser sends for a file that was not chosen.
  if (file !== '') return { name, originalName: decodeUtf8(Buffer.from(file, 'latin1')) };
  const [type = ''] = header['content-type'] ?? [];
  checkCharset(type);
  if (/^multipart\//i.test(type)) throw refusal(`The form field ${quoted(name)} must not be a form itself.`);
  return { name };
}

/** The characters of RFC 8187 section 3.2.1; the language, which is left out by nearly all, does not matter. */
const EXTENDED = /^(utf-8|iso-8859-1)'[\w-]*'((?:%[\da-f]{2}|[\w!#$&+.^`|~-])+)$/i;

/** Returns the text of an extended parameter, `UTF-8''na%C3%AFve.txt`; undefined for a malformed or an empty one. */
function decodeExtended(value: string): string | undefined {
  const [, charset, encoded = ''] = EXTENDED.exec(value) ?? [];
  if (charset === undefined) return undefined;
  const bytes = Buffer.from(
    encoded.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  const isLatin = /^iso/i.test(charset);
  if (!isLatin && !isUtf8(bytes)) return undefined;
  const text = bytes.toString(isLatin ? 'latin1' : 'utf8');
  return text.includes('\0') ? undefined : text;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}

/** Throws unsupported_media_type for a content type that names another charset than UTF-8. */
export function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return;
  throw new AppError('unsupported_media_type', 'Unsupported Content-Type. Bodies are sent as UTF-8.');
}

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const PARAMETER = new RegExp(`\\s*;\\s*(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))`, 'y');

/**
 * Returns the parameters of a header's value, after what comes before the first `;`, by name in lower case. Returns undefined where
 * one is malformed or given twice: servers disagree about what that means.
 */
function parseParameters(header: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  const start = header.indexOf(';');
  let at = start === -1 ? header.length : start;
  for (;;) {
    PARAMETER.lastIndex = at;
    const [all, name = '', inQuotes, plain = ''] = PARAMETER.exec(header) ?? [];
    if (all === undefined) return /^\s*;?\s*$/.test(header.slice(at)) ? parameters : undefined;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, inQuotes?.replace(/\\(["\\])/g, '$1') ?? plain);
    at += all.length;
  }
}
