import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import { decodeUtf8, isJsonObject, parseJson, type JsonLimits, type JsonObject } from '../base/json.ts';
import { checkCharset } from './check-charset.ts';
import { parseForm } from './parse-form.ts';
import { readBody } from './read-body.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a route whose bodies have other limits than the default. */
    readonly jsonLimits?: JsonLimits;
    /** For a route whose members are texts: a password of digits in a form is no number there. */
    readonly formValues?: 'texts';
  }
  interface FastifyRequest {
    /** Length of the body, once it is parsed. */
    bodyBytes: number;
    /** Why the body is malformed, or null. Thrown only once caller and collection are known, whose refusals come first. */
    bodyProblem: AppError | null;
  }
}

type Parse = (bytes: Buffer, request: FastifyRequest) => unknown;

/** Makes `app` accept JSON and forms, decoded strictly. Other types are refused before the body is read. */
export function acceptBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('bodyProblem', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/json\b/i, (request: FastifyRequest, payload: IncomingMessage) =>
    readAndParse(request, payload, parseJsonBody),
  );
  app.addContentTypeParser(
    /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i,
    (request: FastifyRequest, payload: IncomingMessage) => readAndParse(request, payload, parseForm),
  );
  app.addContentTypeParser('*', (request, _payload, done) => {
    // An empty body is none, whatever type it names; and on an unknown path the 404 comes before any fault of the body.
    if (request.is404 || request.headers['content-length'] === '0') done(null, undefined);
    else done(new AppError('unsupported_media_type', 'Unsupported Content-Type.'));
  });
}

async function readAndParse(
  request: FastifyRequest,
  payload: IncomingMessage,
  parse: Parse,
): Promise<unknown> {
  // A client that waits for leave to send its body needs none to be told that the path is unknown.
  if (request.is404 && request.headers.expect !== undefined) return undefined;
  const bytes = await readBody(payload);
  if (request.is404) return undefined;
  try {
    checkCharset(request.headers['content-type'] ?? '');
    request.bodyBytes = bytes.length;
    // Some clients send a type with a DELETE that has no body.
    return bytes.length === 0 ? undefined : await parse(bytes, request);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    request.bodyProblem = error;
    return undefined;
  }
}

function parseJsonBody(bytes: Buffer, request: FastifyRequest): unknown {
  return parseJson(decodeUtf8(bytes), request.routeOptions.config.jsonLimits);
}

/** The body as an object; an absent one is an empty object, as clients leave it out when there is nothing to say. */
export function bodyOf(request: FastifyRequest): JsonObject {
  const { body } = request;
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw new AppError('bad_request', 'Expected a JSON object as the body.');
}
