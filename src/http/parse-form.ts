import { Readable } from 'node:stream';
import { AppError } from '../base/errors.ts';
import {
  decodeUtf8,
  isJsonObject,
  type JsonLimits,
  jsonLimits,
  type JsonObject,
  parseJson,
  withoutByteOrderMark,
} from '../base/json.ts';
import { httpLimits } from './connections.ts';
import type { InstanceRequest } from './instance-request.ts';
import { type FormEntry, parseMultipart } from './parse-multipart.ts';

const { formFieldsMax } = httpLimits;

/** A form's way to send values with types: each part of this name is a JSON object. */
const payloadName = '@jsonPayload';

/** The part of a route that decides which values the fields of a form are. */
export interface FormValues {
  /** Limits of its bodies, where they are others than the default. */
  readonly jsonLimits?: JsonLimits;
  /** Its fields are texts: a password of digits is no number. */
  readonly formValues?: 'texts';
}

/** The parser of a form takes this much at a time: a refused one costs no more. */
const sliceBytes = 16 * 1024;

/** Returns a form that takes no files as the JSON object that it stands for. Throws bad_request for an invalid form and for files. */
export async function parseForm(
  bytes: Buffer,
  request: Pick<InstanceRequest, 'headers' | 'query'>,
  values: FormValues,
): Promise<JsonObject> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^multipart/i.test(contentType))
    return formObject([...parseUrlencoded(bytes), ...request.query], values);
  const entries = await parseMultipart(Readable.from(slicesOf(bytes)), contentType);
  return formObject([...request.query, ...entries], values);
}

function* slicesOf(bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += sliceBytes) yield bytes.subarray(at, at + sliceBytes);
}

/**
 * Returns the fields of a form as the JSON object that they stand for (http-api.md section 5): texts that look like a boolean or a
 * number are one, a name that is sent several times has an array, and the members of each `@jsonPayload` replace those of the same
 * name. Throws bad_request.
 */
export function formObject(
  entries: readonly FormEntry[],
  { formValues, jsonLimits: own }: FormValues,
): JsonObject {
  const toValue = formValues === 'texts' ? (text: string): string => text : inferred;
  const payloads = entries.filter(([name]) => name === payloadName).map(([, text]) => text);
  // Each gets its share, or many payloads could hold many times the values that one body may.
  const limits = own ?? jsonLimits;
  const count = Math.max(1, payloads.length);
  const share = {
    ...limits,
    nodesMax: Math.floor(limits.nodesMax / count),
    uniqueMembersMax: Math.floor(limits.uniqueMembersMax / count),
  };
  return Object.fromEntries([
    ...members(entries, toValue),
    ...payloads.flatMap((text) => Object.entries(toObject(parseJson(withoutByteOrderMark(text), share)))),
  ]);
}

function members(
  entries: readonly FormEntry[],
  toValue: (text: string) => unknown,
): ReadonlyMap<string, unknown> {
  const byName = Map.groupBy(entries, ([name]) => name);
  byName.delete(payloadName);
  return new Map(
    [...byName].map(([name, sameName]) => {
      const values = sameName.map(([, text]) => toValue(text));
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** A number is only inferred from the text that it is written as, so that `007` and the digits of a long account number stay texts. */
function inferred(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  if (!/^[-\d][-.\d]*$/.test(text)) return text;
  const number = Number(text);
  const isExact = String(number) === text && (Number.isSafeInteger(number) || !Number.isInteger(number));
  return isExact ? number : text;
}

function toObject(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw refusal(`Expected a JSON object as ${payloadName}.`);
}

function parseUrlencoded(bytes: Buffer): readonly FormEntry[] {
  const text = decodeUtf8(bytes);
  if (text.split('&', formFieldsMax + 1).length > formFieldsMax)
    throw refusal(`Expected a form of at most ${formFieldsMax} fields.`);
  if (/%00|\0/.test(text)) throw refusal('The form contains U+0000.');
  try {
    // URLSearchParams would replace what this refuses, so that two names could become one.
    decodeURIComponent(text);
  } catch (error) {
    throw new AppError('bad_request', 'The form is not valid percent-encoded UTF-8.', { cause: error });
  }
  return [...new URLSearchParams(text)];
}

function refusal(message: string): AppError {
  return new AppError('bad_request', message);
}
