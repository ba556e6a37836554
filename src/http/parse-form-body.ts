import { isUtf8 } from 'node:buffer';
import { AppError } from '../base/errors.ts';
import { isJsonObject, parseJson, type JsonObject } from '../base/json.ts';
import { batchJsonLimits } from './batch-json-limits.ts';

/** Parts of a form, as each costs a thousand times what its bytes do. */
const partsMax = 1_000;

/** The form that clients send when there may be files: one boundary, by the characters of RFC 2046 section 5.1.1. */
const FORM_TYPE =
  /^multipart\/form-data\s*;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'+.-]{1,70}))\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/**
 * The typed values of the form of a batch: the JSON objects of its parts `@jsonPayload`, of equal members the last. Other parts are ignored,
 * as unknown members are. Throws bad_request for what is no form and for files.
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
  // The parser would replace what is not, and two names could become one.
  if (!isUtf8(bytes)) throw new AppError('bad_request', 'The form is not valid UTF-8.');
  return Object.fromEntries(payloads.flatMap((text) => Object.entries(toObject(text))));
}

/** By the parser of fetch, which Node has anyway. */
async function readForm(bytes: Buffer, boundary: string): Promise<FormData> {
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
  try {
    // A Buffer of a request has memory of its own, which nobody else writes to.
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
