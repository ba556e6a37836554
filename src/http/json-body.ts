import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import { decodeUtf8, isJsonObject, parseJson, type JsonLimits, type JsonObject } from '../base/json.ts';
import { readBody } from './read-body.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a route whose bodies have other limits than the default. */
    readonly jsonLimits?: JsonLimits;
  }
  interface FastifyRequest {
    /** Length of the body, once it is parsed. */
    bodyBytes: number;
    /** Why the body is malformed, or null. Thrown only once caller and collection are known, whose refusals come first. */
    bodyProblem: AppError | null;
  }
}

/** Makes `app` accept JSON bodies only, decoded strictly and never coerced. Other types are refused before the body is read. */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('bodyProblem', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/json\b/i,
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const bytes = await readBody(payload);
      return request.is404 ? undefined : parseBody(request, bytes);
    },
  );
  app.addContentTypeParser('*', (request, _payload, done) => {
    // An empty body is none, whatever type it names; and on an unknown path the 404 comes before any fault of the body.
    if (request.is404 || request.headers['content-length'] === '0') done(null, undefined);
    else done(new AppError('unsupported_media_type', 'Unsupported Content-Type.'));
  });
}

function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  try {
    checkCharset(request.headers['content-type'] ?? '');
    request.bodyBytes = bytes.length;
    const limits = request.routeOptions.config.jsonLimits;
    // Some clients send this type with a DELETE that has no body.
    return bytes.length === 0 ? undefined : parseJson(decodeUtf8(bytes), limits);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    request.bodyProblem = error;
    return undefined;
  }
}

/** The body as an object; an absent one is an empty object, as clients leave it out when there is nothing to say. */
export function bodyOf(request: FastifyRequest): JsonObject {
  const { body } = request;
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw new AppError('bad_request', 'Expected a JSON object as the body.');
}

function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
  if (charset === undefined || /^utf-?8$/i.test(charset)) return;
  throw new AppError('unsupported_media_type', 'Unsupported Content-Type. JSON is sent as UTF-8.');
}
