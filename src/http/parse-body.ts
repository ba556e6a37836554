import { AppError } from '../base/errors.ts';
import {
  decodeUtf8,
  isJsonObject,
  type JsonObject,
  parseJsonInTurns,
  withoutByteOrderMark,
} from '../base/json.ts';
import type { InstanceRequest } from './instance-request.ts';
import { type FormValues, parseForm } from './parse-form.ts';
import { checkCharset } from './parse-multipart.ts';

/** The part of a route that decides what its bodies are. */
export interface BodyValues extends FormValues {
  /** Bodies are taken as they are, of whatever type. */
  readonly takesBytes?: boolean;
}

/**
 * Returns the body of a request as the route takes it: JSON or a form as a value, decoded strictly, or the bytes themselves; undefined where
 * there is none. Throws bad_request, unsupported_media_type.
 */
export async function parseBody(
  route: BodyValues,
  request: Pick<InstanceRequest, 'bytes' | 'headers' | 'query'>,
): Promise<unknown> {
  const { bytes, headers } = request;
  if (bytes === undefined || route.takesBytes === true) return bytes;
  const type = headers['content-type'] ?? '';
  checkCharset(type);
  // Some clients send a type with a DELETE that has no body.
  if (bytes.length === 0) return undefined;
  if (!/^application\/json\b/i.test(type)) return parseForm(bytes, request, route);
  return parseJsonInTurns(withoutByteOrderMark(decodeUtf8(bytes)), route.jsonLimits);
}

/** The body as an object; an absent one is an empty object, as clients leave it out when there is nothing to say. Throws bad_request. */
export function objectOf(body: unknown): JsonObject {
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw new AppError('bad_request', 'Expected a JSON object as the body.');
}
