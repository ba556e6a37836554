import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError, busy } from '../base/errors.ts';
import { Pieces } from '../base/pieces.ts';
import {
  decodeUtf8,
  isJsonObject,
  type JsonLimits,
  type JsonObject,
  parseJson,
  withoutByteOrderMark,
} from '../base/json.ts';
import { httpLimits } from './connections.ts';
import { parseForm } from './parse-form.ts';
import { checkCharset } from './parse-multipart.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a route whose bodies have other limits than the default. */
    readonly jsonLimits?: JsonLimits | undefined;
    /** For a route whose members are texts: a password of digits in a form is no number there. */
    readonly formValues?: 'texts' | undefined;
    /** For a route that takes bodies of any kind as they are. */
    readonly takesBytes?: boolean | undefined;
    /** For a route that reads forms itself, as they may hold files. */
    readonly takesFiles?: boolean;
  }
  interface FastifyRequest {
    /** Length of the body, once it is parsed. */
    bodyBytes: number;
    /** Why the body is malformed, or null. Thrown only once caller and collection are known, whose refusals come first. */
    bodyProblem: AppError | null;
    /** Whether the body is a form that the route has still to read. */
    isFormWaiting: boolean;
  }
}

type Parse = (bytes: Buffer, request: FastifyRequest) => unknown;

/** Makes `app` accept JSON and forms, decoded strictly. Other types are refused before the body is read. */
export function acceptBodies(app: FastifyInstance): void {
  app.decorateRequest('bodyBytes', 0);
  app.decorateRequest('bodyProblem', null);
  app.decorateRequest('isFormWaiting', false);
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
  const bytes = await readBody(payload);
  if (request.is404) return undefined;
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

function parseJsonBody(bytes: Buffer, request: FastifyRequest): unknown {
  return parseJson(withoutByteOrderMark(decodeUtf8(bytes)), request.routeOptions.config.jsonLimits);
}

/** The body as an object; an absent one is an empty object, as clients leave it out when there is nothing to say. */
export function bodyOf(request: FastifyRequest): JsonObject {
  const { body } = request;
  if (body === undefined) return {};
  if (isJsonObject(body)) return body;
  throw new AppError('bad_request', 'Expected a JSON object as the body.');
}

/**
 * A bound on the memory that clients hold together, for example with bodies that are half sent or answers that are not read. Beyond it
 * the oldest holding is given up: most last for less than a second, and a client that fills the memory on purpose never ends its own.
 */
export class MemoryBudget {
  readonly #bytesMax: number;
  /** The bytes of each holding by its `giveUp` function, oldest first. */
  readonly #held = new Map<() => void, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The bytes of all holdings together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the bytes of a holding. May call `giveUp` of this and of other holdings before it returns. */
  hold(giveUp: () => void, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(giveUp) ?? 0);
    this.#held.set(giveUp, bytes);
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.release(oldest);
      oldest();
    }
  }

  /** Ends a holding, if it has not ended yet. */
  release(giveUp: () => void): void {
    this.#bytes -= this.#held.get(giveUp) ?? 0;
    this.#held.delete(giveUp);
  }
}

/** That of the bodies of all clients. */
export const bodiesBudget = new MemoryBudget(httpLimits.bodiesBytesMax);

/**
 * Reads the bytes of a body. Throws payload_too_large, at once when the announced length is too large, and unavailable when the bodies
 * of all clients together are. Bytes that arrive after that are discarded.
 */
export function readBody(payload: IncomingMessage, budget = bodiesBudget): Promise<Buffer> {
  const announced = Number(payload.headers['content-length'] ?? 0);
  if (announced > httpLimits.bodyBytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const refuse = (error: Error): void => {
      payload.off('data', take);
      pieces.take();
      budget.release(giveUp);
      reject(error);
    };
    const giveUp = (): void => refuse(busy());
    const take = (piece: Buffer): void => {
      pieces.add(piece);
      if (pieces.length > httpLimits.bodyBytesMax) return refuse(tooLarge());
      if (pieces.length > httpLimits.smallBodyBytesMax) budget.hold(giveUp, pieces.length);
    };
    payload.on('data', take);
    payload.once('error', refuse);
    payload.once('end', () => {
      budget.release(giveUp);
      resolve(pieces.take());
    });
  });
}

/** The refusal of a body that is larger than it may be. */
export function tooLarge(): AppError {
  return new AppError('payload_too_large', 'Request entity too large.');
}
