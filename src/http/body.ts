import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { Pieces } from '../base/pieces.ts';
import {
  decodeUtf8,
  isJsonObject,
  type JsonObject,
  parseJsonInTurns,
  withoutByteOrderMark,
} from '../base/json.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import { httpLimits } from './connections.ts';
import { parseForm } from './parse-form.ts';
import { checkCharset } from './parse-multipart.ts';
import type { UnfinishedBodies } from './unfinished-bodies.ts';

type Parse = (bytes: Buffer, request: FastifyRequest) => unknown;

/** Makes `app` accept JSON and forms, decoded strictly. Other types are refused before the body is read. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/json\b/i, (request: FastifyRequest, payload: IncomingMessage) =>
    readAndParse(request, payload, parseJsonBody),
  );
  app.addContentTypeParser(
    /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i,
    (request: FastifyRequest, payload: IncomingMessage) => readForm(request, payload),
  );
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
    readOther(request, payload),
  );
}

/** Throws unsupported_media_type, unless the route takes bytes of any type. */
async function readOther(request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  if (request.routeOptions.config.takesBytes === true)
    return readAndParse(request, payload, (bytes) => bytes);
  // An empty body is none, whatever type it names; and on an unknown path the 404 comes before any fault of the body.
  if (request.is404 || request.headers['content-length'] === '0') return undefined;
  throw new AppError('unsupported_media_type', 'Unsupported Content-Type.');
}

async function readForm(request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const isMultipart = /^multipart/i.test(request.headers['content-type'] ?? '');
  if (!isMultipart || request.routeOptions.config.takesFiles !== true)
    return readAndParse(request, payload, parseForm);
  // The route reads it: only then is it known who sends it, and what may be in it.
  request.isFormWaiting = true;
  return undefined;
}

async function readAndParse(
  request: FastifyRequest,
  payload: IncomingMessage,
  parse: Parse,
): Promise<unknown> {
  // A client that waits for leave to send its body needs none to be told that the path is unknown.
  if (request.is404 && request.headers.expect !== undefined) return undefined;
  const { bytes, release } = await readBody(payload, bodyMemory(request));
  if (request.is404) {
    release();
    return undefined;
  }
  request.releaseBody = release;
  request.bodyBytes = bytes.length;
  if (request.routeOptions.config.takesBytes === true) return bytes;
  try {
    checkCharset(request.headers['content-type'] ?? '');
    // Some clients send a type with a DELETE that has no body.
    return bytes.length === 0 ? undefined : await parse(bytes, request);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bad_request') throw error;
    request.bodyProblem = error;
    return undefined;
  }
}

function parseJsonBody(bytes: Buffer, request: FastifyRequest): Promise<unknown> {
  return parseJsonInTurns(withoutByteOrderMark(decodeUtf8(bytes)), request.routeOptions.config.jsonLimits);
}

/** Where the body of a request is counted. The client's address is that of the connection until the instance is open, whose settings tell more. */
export function bodyMemory(request: FastifyRequest): BodyMemory {
  const { server, instanceEntry, raw } = request;
  const address = clientKey(server.admission.addressBefore(instanceEntry, request));
  return { bodies: server.bodies, share: { instance: instanceEntry?.id ?? '', address, signal: raw.signal } };
}

/** The body as an object; an absent one is an empty object, as clients leave it out when there is nothing to say. */
export function bodyOf(request: FastifyRequest): JsonObject {
  const { body } = request;
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw new AppError('bad_request', 'Expected a JSON object as the body.');
}

/** Where the memory of a body is counted. */
export interface BodyMemory {
  readonly bodies: UnfinishedBodies;
  readonly share: Share;
}

/** A body, and what ends the memory that it takes. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly release: () => void;
}

/**
 * Reads the bytes of a body. Throws payload_too_large, at once when the announced length is too large, and unavailable or too_slow when
 * the bodies of all clients together are too large. Bytes that arrive after that are discarded.
 */
export function readBody(payload: IncomingMessage, { bodies, share }: BodyMemory): Promise<ReadBody> {
  const announced = Number(payload.headers['content-length'] ?? 0);
  if (announced > httpLimits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const refuse = (error: Error): void => {
      payload.off('data', take);
      pieces.take();
      bodies.end(body);
      reject(error);
    };
    const body = bodies.begin(share, refuse);
    const take = (piece: Buffer): void => {
      pieces.add(piece);
      if (pieces.length > httpLimits.bodyBytesMax) return refuse(tooLarge());
      bodies.receive(body, pieces.length);
    };
    payload.on('data', take);
    payload.once('error', refuse);
    payload.once('end', () => resolve({ bytes: pieces.take(), release: bodies.finish(body) }));
  });
}

/** The refusal of a body that is larger than it may be. */
export function tooLarge(): AppError {
  return new AppError('payload_too_large', 'Request entity too large.');
}
