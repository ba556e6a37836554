import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Share } from '../base/fair-line.ts';
import type { QueryReader } from '../query/list-query.ts';
import { projectTexts } from '../query/project-texts.ts';
import { parseFields, pickFields, type Projection } from '../query/projection.ts';
import { clientKey } from '../limits/rate-limiter.ts';
import { AnswerMemory } from './answer-memory.ts';
import { httpLimits } from './connections.ts';
import { type Content, sendContent } from './send-content.ts';
import { byteLengthOf, lengthOf, sendTexts } from './send-texts.ts';

/** The answer of a route. */
export interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly json?: string | undefined;
  /** In place of `json`, for one that may be long: texts that are one JSON text together. */
  readonly texts?: readonly string[];
  /** In place of JSON; `headers` say what it is. */
  readonly content?: Content;
  /** An empty one takes away a header that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Takes the connection over, in place of a body, once status and headers are written. */
  readonly open?: (response: ServerResponse) => void;
}

/** The answer without a body. */
export const nothing: Answer = { status: 204 };

/** Headers for answers that no cache may keep, as they hold a secret. */
export const notStored = { 'cache-control': 'no-store' };

/** Throws bad_request for an invalid `fields`, before anything is changed rather than when the answer is written. */
export function checkFields(query: QueryReader): void {
  projectionOf(query);
}

/** JSON text with only the members that `fields` of the query asks for. */
export function projected(query: QueryReader, json: string): string {
  const projection = projectionOf(query);
  return projection === undefined ? json : JSON.stringify(pickFields(JSON.parse(json), projection));
}

/** A shorter text is read and written in less than a turn of the event loop may take. */
const longLength = 64 * 1024;

/** As {@link projected}; other work goes on between the pieces of a long text. */
export function projectedInTurns(query: QueryReader, json: string): string | Promise<string> {
  if (json.length < longLength) return projected(query, json);
  const projection = projectionOf(query);
  return projection === undefined ? json : projectTexts([json], projection).then(([text = '']) => text);
}

function projectionOf(query: QueryReader): Projection | undefined {
  const fields = query.get('fields');
  return fields === null || fields === '' ? undefined : parseFields(fields);
}

/** Returns the headers that every answer to this request carries. */
export function commonHeaders(request: FastifyRequest): Readonly<Record<string, string>> {
  // A request with a token or a key, valid or not.
  const caching = request.headers.authorization === undefined ? undefined : privateCaching;
  return { ...standardHeaders(request.id), ...caching, ...request.corsHeaders, ...request.rateLimitHeaders };
}

/** Shared caches must not keep an answer that depends on its caller, and any other cache must revalidate it. */
const privateCaching = { 'cache-control': 'private, no-cache' };

/**
 * Sends a whole answer in one go, past Fastify's reply, which collects headers in a map, copies and checks them: this serves a
 * sixth more views per second. For a HEAD, Node leaves the body out. Returns a promise for a long answer, which may have to wait for
 * memory: it throws unavailable, before anything is sent, where there is none for an answer that need not be sent.
 */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
): Promise<void> | undefined {
  const { json, texts = json === undefined ? undefined : [json] } = answer;
  if (texts === undefined || answer.content !== undefined) return sendOther(request, reply, answer);
  const [only = ''] = texts;
  if (texts.length > 1 || only.length > httpLimits.smallAnswerBytesMax)
    return sendLarge(request, reply, { ...answer, texts });
  sendHead(request, reply, { answer, byteLength: Buffer.byteLength(only) }).end(only);
  return undefined;
}

function sendOther(request: FastifyRequest, reply: FastifyReply, answer: Answer): undefined {
  const { status, content } = answer;
  reply.hijack();
  const headers = { ...commonHeaders(request), ...answer.headers };
  request.server.requestCounts.note(request, status, sentBytesOf(request, content?.length ?? 0));
  if (content !== undefined) {
    sendContent(reply.raw, { status, headers, share: shareOf(request) }, content);
    return;
  }
  if (answer.open === undefined || request.method === 'HEAD') {
    reply.raw.writeHead(status, headers).end();
    return;
  }
  const response = reply.raw.writeHead(status, headers);
  // Sent by themselves, the headers become one text; Node would keep them for as long as the answer is open as the pieces that it was made of.
  response.flushHeaders();
  answer.open(response);
}

interface Head {
  readonly answer: Answer;
  readonly byteLength: number;
}

function sendHead(
  request: FastifyRequest,
  reply: FastifyReply,
  { answer, byteLength }: Head,
): ServerResponse {
  reply.hijack();
  request.server.requestCounts.note(request, answer.status, sentBytesOf(request, byteLength));
  return reply.raw.writeHead(answer.status, {
    ...commonHeaders(request),
    ...answer.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': byteLength,
  });
}

/** The bytes of the body that is sent; none are for a HEAD. */
function sentBytesOf({ method }: FastifyRequest, bytes: number): number {
  return method === 'HEAD' ? 0 : bytes;
}

async function sendLarge(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer & { readonly texts: readonly string[] },
): Promise<void> {
  const { texts } = answer;
  const byteLength = await byteLengthOf(texts);
  const memory = answerMemory(request);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  await memory.admitAnswer(lengthOf(texts), { isCertain: !isRead });
  const response = sendHead(request, reply, { answer, byteLength });
  if (request.method === 'HEAD') {
    memory.release();
    response.end();
    return;
  }
  // Otherwise Node joins headers and text to a new string, which is one more copy of the text.
  response.flushHeaders();
  // Not awaited: the instance need not stay open for as long as a client takes to read.
  void sendTexts(response, texts.toReversed(), { memory, byteLength });
}

/** The memory of the answer to a request, in the ledger of all. */
export function answerMemory(request: FastifyRequest): AnswerMemory {
  if (request.answerMemory !== null) return request.answerMemory;
  return (request.answerMemory = new AnswerMemory(request.server.memory, shareOf(request)));
}

function shareOf(request: FastifyRequest): Share {
  const { server, instance, instanceEntry, raw } = request;
  const address = instance === null ? '' : clientKey(server.admission.addressOf(instance, request));
  return { instance: instanceEntry?.id ?? '', address, signal: raw.signal };
}

/** Returns the headers that every answer carries, also where Fastify is not involved. */
export function standardHeaders(requestId: string): Record<string, string> {
  return {
    // Also on answers to guests: a cache must not give such an answer to a caller with a token.
    vary: 'Origin, Authorization',
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'x-xss-protection': '1; mode=block',
    // An answer is data: a browser that opens one as a page loads nothing, shows it in no frame and tells no address of it.
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-site',
    'referrer-policy': 'no-referrer',
  };
}
