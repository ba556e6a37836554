import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CorsHeaders } from './cors.ts';
import { httpLimits } from './http-limits.ts';
import { standardHeaders } from './standard-headers.ts';
import { unreadAnswers } from './unread-answers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** CORS headers of the answer; null for a request that no web page sent, or one whose origin is not allowed. */
    corsHeaders: CorsHeaders | null;
    /** How many requests the client has left; null where no rule limits it. */
    rateLimitHeaders: Readonly<Record<string, string>> | null;
  }
}

/** Returns the headers that every answer to this request carries. */
export function commonHeaders(request: FastifyRequest): Readonly<Record<string, string>> {
  const caching = hasCaller(request) ? privateCaching : none;
  return { ...standardHeaders(request.id), ...caching, ...request.corsHeaders, ...request.rateLimitHeaders };
}

/** Shared caches must not keep an answer that depends on its caller, and any other cache must revalidate it. */
const privateCaching = { 'cache-control': 'private, no-cache' };

const none = {};

/** True for a request with a token or a key, valid or not. */
function hasCaller({ headers }: FastifyRequest): boolean {
  return headers.authorization !== undefined;
}

export interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly json?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a whole answer in one go, past Fastify's reply, which collects headers in a map, copies and checks them: this serves a
 * sixth more views per second. For a HEAD, Node leaves the body out. Returns a promise for a large answer, which may have to wait for memory.
 */
export function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
): Promise<void> | undefined {
  reply.hijack();
  const { json } = answer;
  const headers: string[] = [];
  append(headers, standardHeaders(request.id));
  if (request.corsHeaders !== null) append(headers, request.corsHeaders);
  if (request.rateLimitHeaders !== null) append(headers, request.rateLimitHeaders);
  if (answer.headers !== undefined) append(headers, answer.headers);
  if (hasCaller(request) && answer.headers?.['cache-control'] === undefined) append(headers, privateCaching);
  const byteLength = json === undefined ? 0 : Buffer.byteLength(json);
  if (json !== undefined) {
    headers.push('content-type', 'application/json; charset=utf-8');
    headers.push('content-length', String(byteLength));
  }
  reply.raw.writeHead(answer.status, headers);
  if (json !== undefined && byteLength > httpLimits.smallAnswerBytesMax)
    return sendLarge(reply.raw, json, byteLength);
  reply.raw.end(json);
  return undefined;
}

async function sendLarge(response: ServerResponse, json: string, byteLength: number): Promise<void> {
  const freed = unreadAnswers.untilFreed();
  if (freed !== undefined) await freed;
  // Otherwise Node joins headers and text to a new string, which is one more copy of the text.
  response.flushHeaders();
  // Node allocates three bytes for each character of UTF-8.
  response.end(json, byteLength === json.length ? 'latin1' : 'utf8');
  unreadAnswers.hold(response, byteLength);
}

function append(list: string[], headers: Readonly<Record<string, string>>): void {
  for (const name in headers) list.push(name, headers[name] ?? '');
}
