import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { QueryReader } from '../query/list-query.ts';
import { parseFields, pickFields, type Projection } from '../query/projection.ts';
import { MemoryBudget } from './body.ts';
import { httpLimits } from './connections.ts';
import type { CorsHeaders } from './cors.ts';
import { type Content, sendContent } from './send-content.ts';

/** The answer of a route. */
export interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly json?: string | undefined;
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

/** As {@link projected} of a list, in which `fields` asks for members of the items. */
export function projectedList(query: QueryReader, json: string): string {
  const projection = projectionOf(query);
  if (projection === undefined) return json;
  // A list is made by `listJson` and is an object with `items`.
  const list = JSON.parse(json) as { readonly items: unknown };
  return JSON.stringify({ ...list, items: pickFields(list.items, projection) });
}

function projectionOf(query: QueryReader): Projection | undefined {
  const fields = query.get('fields');
  return fields === null || fields === '' ? undefined : parseFields(fields);
}

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
  // A request with a token or a key, valid or not.
  const caching = request.headers.authorization === undefined ? undefined : privateCaching;
  return { ...standardHeaders(request.id), ...caching, ...request.corsHeaders, ...request.rateLimitHeaders };
}

/** Shared caches must not keep an answer that depends on its caller, and any other cache must revalidate it. */
const privateCaching = { 'cache-control': 'private, no-cache' };

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
  const { status, json, content } = answer;
  const headers = { ...commonHeaders(request), ...answer.headers };
  const byteLength = json === undefined ? 0 : Buffer.byteLength(json);
  request.server.requestCounts.note(request, status, sentBytesOf(request, answer, byteLength));
  if (content !== undefined) {
    sendContent(reply.raw, { status, headers }, content);
    return undefined;
  }
  if (answer.open !== undefined && request.method !== 'HEAD') {
    const response = reply.raw.writeHead(status, headers);
    // Sent by themselves, the headers become one text; Node would keep them for as long as the answer is open as the pieces that it was made of.
    response.flushHeaders();
    answer.open(response);
    return undefined;
  }
  if (json === undefined) {
    reply.raw.writeHead(status, headers).end();
    return undefined;
  }
  reply.raw.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': byteLength,
  });
  if (byteLength > httpLimits.smallAnswerBytesMax) return sendLarge(reply.raw, json, byteLength);
  reply.raw.end(json);
  return undefined;
}

/** The bytes of the body that is sent; none are for a HEAD. */
function sentBytesOf({ method }: FastifyRequest, { content }: Answer, jsonBytes: number): number {
  if (method === 'HEAD') return 0;
  return content === undefined ? jsonBytes : content.length;
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

/**
 * The memory of answers that were sent and that their clients have not read yet. When those of all clients together exceed the budget,
 * the connection of the oldest is destroyed: a client has five minutes to read an answer, but not everybody's memory.
 */
export class UnreadAnswers {
  readonly #budget: MemoryBudget;
  /** Number of answers given up whose memory is not free yet. */
  #closing = 0;

  constructor(bytesMax: number) {
    this.#budget = new MemoryBudget(bytesMax);
  }

  get bytes(): number {
    return this.#budget.bytes;
  }

  /** Counts an answer of this many bytes until its client has read it; call it right after `end`. */
  hold(response: ServerResponse, bytes: number): void {
    // Nothing is held of an answer that the system has taken at once. Node tells how much is left, but of a text only in characters.
    if (bytes <= httpLimits.smallAnswerBytesMax || response.socket?.writableLength === 0) return;
    let isGivenUp = false;
    const giveUp = (): void => {
      isGivenUp = true;
      this.#closing += 1;
      response.destroy();
    };
    response.once('close', () => {
      if (isGivenUp) this.#closing -= 1;
      this.#budget.release(giveUp);
    });
    this.#budget.hold(giveUp, bytes);
  }

  /**
   * Returns undefined, or a promise to await before a large answer is made or sent. Node frees the memory of a destroyed connection at the end of a
   * turn of the event loop, and a single turn could make hundreds of answers.
   */
  untilFreed(): Promise<void> | undefined {
    return this.#closing === 0 ? undefined : this.#waitForClosing();
  }

  async #waitForClosing(): Promise<void> {
    while (this.#closing > 0) await nextTurn();
  }
}

/** Those of all connections. */
export const unreadAnswers = new UnreadAnswers(httpLimits.answersBytesMax);
