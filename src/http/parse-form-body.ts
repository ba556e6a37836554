import { isUtf8 } from 'node:buffer';
import { AppError } from '../base/errors.ts';
import { isJsonObject, parseJson, type JsonObject } from '../base/json.ts';
import { batchJsonLimits } from './batch-json-limits.ts';

/** The parts of a form are limited because parsing one costs a thousand times as much as its bytes. */
const partsMax = 1_000;

/** The content type of forms that may hold files: one boundary, of the characters in RFC 2046 section 5.1.1. */
const FORM_TYPE =
  /^multipart\/form-data\s*;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'+.-]{1,70}))\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Returns the body of a batch that was sent as a form: the members of the JSON objects in its `@jsonPayload` parts, of which the last
 * one of a name wins. Other parts are ignored, as unknown members are. Throws bad_request for an invalid form and for files.
 */
export async function parseFormBody(bytes: Buffer, contentType: string): Promise<JsonObject> {
  const [, quoted, plain] = FORM_TYPE.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new AppError('bad_request', 'Expected a form with one boundary.');
  if (countOf(bytes, `--${boundary}`) > partsMax + 1) {
    throw new AppError('bad_request', `Expected a form of at most ${partsMax} parts.`);
  }
  const form = await readForm(bytes, boundary);
  const payloads: string[] = [];
  for (const [name, value] of form) {
    if (typeof value !== 'string')
      throw new AppError('bad_request', `Files are not supported yet: ${JSON.stringify(name)} is one.`);
    if (name === '@jsonPayload') payloads.push(value);
  }
  // The parser replaces invalid bytes, so two different member names could become one.
  if (!isUtf8(bytes)) throw new AppError('bad_request', 'The form is not valid UTF-8.');
  return Object.fromEntries(payloads.flatMap((text) => Object.entries(toObject(text))));
}

/** Parses the form with the parser of fetch, which comes with Node. */
async function readForm(bytes: Buffer, boundary: string): Promise<FormData> {
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
  try {
    // The body of a request is never in shared memory.
    return await new Response(bytes as Uint8Array<ArrayBuffer>, { headers }).formData();
  } catch (error) {
    throw new AppError('bad_request', 'The form is not valid multipart/form-data.', { cause: error });
  }
}

function toObject(text: string): JsonObject {
  const value = parseJson(text, batchJsonLimits);
  if (isJsonObject(value)) return value;
  throw new AppError('bad_request', 'Expected a JSON object as @jsonPayload.');
}

function countOf(bytes: Buffer, text: string): number {
  let count = 0;
  for (let at = bytes.indexOf(text); at !== -1 && count <= partsMax + 1; at = bytes.indexOf(text, at + 1))
    count += 1;
  return count;
}
