import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import { clientKey } from '../../limits/rate-limiter.ts';
import { type BodyMemory, readBody } from '../read-body.ts';
import { tracesOf } from '../client-address.ts';

/** Makes `app` accept JSON and forms, as bytes that the host of the instance parses. Other types are refused before the body is read. */
export function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/json\b/i, unlessOwn(readBytes));
  app.addContentTypeParser(
    /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i,
    unlessOwn(readForm),
  );
  app.addContentTypeParser('*', unlessOwn(readOther));
}

type ReadRequest = (request: FastifyRequest, payload: IncomingMessage) => Promise<Buffer | undefined>;

/** Leaves the body to a route that reads it itself. Throws unsupported_media_type unless that takes its type. */
function unlessOwn(read: ReadRequest): ReadRequest {
  return async (request, payload) => {
    const { bodyTypes } = request.routeOptions.config;
    if (bodyTypes === undefined) return read(request, payload);
    const [type = ''] = (request.headers['content-type'] ?? '').split(';');
    if (bodyTypes.includes(type.trim().toLowerCase())) return undefined;
    throw new AppError('unsupported_media_type', `Expected a body of the type ${bodyTypes.join(' or ')}.`);
  };
}

/** Throws unsupported_media_type, unless the route takes bytes of any type. */
async function readOther(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer | undefined> {
  if (request.routeOptions.config.takesBytes === true) return readBytes(request, payload);
  // An empty body is none, whatever type it names; and on an unknown path the 404 comes before any fault of the body.
  if (request.is404 || request.headers['content-length'] === '0') return undefined;
  throw new AppError('unsupported_media_type', 'Unsupported Content-Type.');
}

async function readForm(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer | undefined> {
  const isMultipart = /^multipart/i.test(request.headers['content-type'] ?? '');
  if (!isMultipart || request.routeOptions.config.takesFiles !== true) return readBytes(request, payload);
  // The route reads it: only then is it known who sends it, and what may be in it.
  request.isFormWaiting = true;
  return undefined;
}

async function readBytes(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer | undefined> {
  // A client that waits for leave to send its body needs none to be told that the path is unknown.
  if (request.is404 && request.headers.expect !== undefined) return undefined;
  const { bytes, release } = await readBody(payload, bodyMemory(request));
  if (request.is404) {
    release();
    return undefined;
  }
  request.releaseBody = release;
  request.bodyBytes = bytes.length;
  return bytes;
}

/** Where the body of a request is counted. The client's address is that of the connection until the instance is open, whose settings tell more. */
export function bodyMemory(request: FastifyRequest): BodyMemory {
  const { server, instanceEntry, raw } = request;
  const address = clientKey(server.host.addressBefore(instanceEntry, tracesOf(raw)));
  return { bodies: server.bodies, share: { instance: instanceEntry?.id ?? '', address, signal: raw.signal } };
}
