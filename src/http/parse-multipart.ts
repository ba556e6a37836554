import { once } from 'node:events';
import { Dicer } from '@fastify/busboy';
import { AppError } from '../base/errors.ts';
import { decodeUtf8 } from '../base/json.ts';
import { httpLimits } from './connections.ts';

const { formFieldsMax, partHeaderBytesMax, partHeaderLinesMax } = httpLimits;

/** The parser takes this much at a time: a refused form costs no more. */
const sliceBytes = 16 * 1024;

/** Name and value of one field of a form. */
export type FormEntry = readonly [name: string, value: string];

/** The characters of RFC 2046 section 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;

/** Header lines of a part by name in lower case, one character for each byte. */
type PartHeader = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the fields of a `multipart/form-data` body (RFC 7578). Where parsers are known to disagree about a part it is refused, not
 * skipped: a record without a field that was sent would be a wrong one. Throws bad_request for that and for files.
 */
export async function parseMultipart(bytes: Buffer, contentType: string): Promise<readonly FormEntry[]> {
  const boundary = parseParameters(contentType)?.get('boundary') ?? '';
  if (!BOUNDARY.test(boundary)) throw refusal('Expected a form with one boundary.');
  // The parser does not report what it leaves out of a header, so it keeps more than a header may have. Its type lacks the first.
  const headerLimits = { maxHeaderSize: 2 * partHeaderBytesMax, maxHeaderPairs: partHeaderLinesMax + 1 };
  const parser = new Dicer({ boundary, ...headerLimits });
  // For errors after the one that is waited for: without a listener they would end the process.
  parser.on('error', () => undefined);
  const entries: Promise<FormEntry>[] = [];
  parser.on('part', (part) => {
    if (entries.length === formFieldsMax)
      parser.destroy(refusal(`Expected a form of at most ${formFieldsMax} fields.`));
    if (parser.destroyed) {
      part.resume();
      return;
    }
    const entry = readPart(part);
    entry.catch((error: Error) => parser.destroy(error));
    entries.push(entry);
  });
  const finished = once(parser, 'finish');
  for (let at = 0; at < bytes.length && !parser.destroyed; at += sliceBytes)
    parser.write(bytes.subarray(at, at + sliceBytes));
  if (!parser.destroyed) parser.end();
  try {
    await finished;
    return await Promise.all(entries);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('bad_request', 'The form is not valid multipart/form-data.', { cause: error });
  }
}

async function readPart(part: Dicer.PartStream): Promise<FormEntry> {
  let header: PartHeader | undefined;
  part.once('header', (found) => {
    // What the parser reports: it makes an array for each name.
    header = found as PartHeader;
  });
  // No encoding is set, so the pieces are bytes.
  const pieces = (await part.toArray()) as readonly Buffer[];
  if (header === undefined) throw refusal('A part of the form has no complete header.');
  const name = nameOf(header);
  const value = decodeUtf8(Buffer.concat(pieces));
  if (value.includes('\0')) throw refusal(`The form field ${quoted(name)} contains U+0000.`);
  return [name, value];
}

/** Returns the name of the field that a part is. Throws bad_request for a file and for a part that is no field. */
function nameOf(header: PartHeader): string {
  const lines = Object.entries(header).flatMap(([name, values]) => values.map((value) => name + value));
  if (lines.length > partHeaderLinesMax || lines.join('').length > partHeaderBytesMax)
    throw refusal(`Expected at most ${partHeaderBytesMax} bytes as the header of a part of the form.`);
  const [disposition = '', another] = header['content-disposition'] ?? [];
  const parameters = /^form-data\s*(?:;|$)/i.test(disposition) ? parseParameters(disposition) : undefined;
  const bytes = parameters?.get('name');
  if (another !== undefined || bytes === undefined)
    throw refusal('Expected each part of the form to be a field with one name.');
  const name = decodeUtf8(Buffer.from(bytes, 'latin1'));
  // An empty name is what a browser sends for a file that was not chosen.
  if (parameters?.has('filename*') === true || (parameters?.get('filename') ?? '') !== '')
    throw refusal(`Files are not available yet: ${quoted(name)} is one.`);
  const [type = ''] = header['content-type'] ?? [];
  checkCharset(type);
  if (/^multipart\//i.test(type)) throw refusal(`The form field ${quoted(name)} must not be a form itself.`);
  const [encoding = '8bit'] = header['content-transfer-encoding'] ?? [];
  if (!/^(?:7bit|8bit|binary)\s*$/i.test(encoding))
    throw refusal(`The form field ${quoted(name)} must not be encoded.`);
  return name;
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
