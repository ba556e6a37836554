import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Share } from '../../base/fair-line.ts';
import { clientKey } from '../../limits/rate-limiter.ts';
import { type Answer, standardHeaders } from '../answer.ts';
import { AnswerMemory } from '../answer-memory.ts';
import { sendContent } from '../send-content.ts';
import { sendTexts } from '../send-texts.ts';
import { StreamConnection } from '../stream-connection.ts';

/** Returns the headers that every answer to this request carries. */
export function commonHeaders(request: FastifyRequest): Readonly<Record<string, string>> {
  // A request with a token or a key, valid or not.
  const caching = request.headers.authorization === undefined ? undefined : privateCaching;
  const { corsHeaders, report } = request;
  return { ...standardHeaders(request.id), ...caching, ...corsHeaders, ...report?.rateLimitHeaders };
}

/** Shared caches must not keep an answer that depends on its caller, and any other cache must revalidate it. */
const privateCaching = { 'cache-control': 'private, no-cache' };

/**
 * Sends a whole answer in one go, past Fastify's reply, which collects headers in a map, copies and checks them: this serves a
 * sixth more views per second. For a HEAD, Node leaves the body out.
 */
export function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
  const { json, texts, byteLength, content } = answer;
  if (content !== undefined || (json === undefined && texts === undefined)) {
    sendOther(request, reply, answer);
    return;
  }
  if (texts !== undefined && byteLength !== undefined) {
    sendLarge(request, reply, { ...answer, texts, byteLength });
    return;
  }
  const body = json ?? texts?.[0] ?? '';
  sendHead(request, reply, { ...answer, byteLength: Buffer.byteLength(body) }).end(body);
}

function sendOther(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
  const { status, content, open } = answer;
  reply.hijack();
  const headers = { ...commonHeaders(request), ...answer.headers };
  const { requestCounts } = request.server;
  requestCounts.note(request, status, sentBytesOf(request, content?.length ?? 0));
  if (content !== undefined) {
    if (content.isFile === true && content.body !== undefined) requestCounts.sentFileBytes += content.length;
    sendContent(reply.raw, { status, headers, share: shareOf(request) }, content);
    return;
  }
  if (open === undefined || request.method === 'HEAD') {
    reply.raw.writeHead(status, headers).end();
    return;
  }
  const response = reply.raw.writeHead(status, headers);
  // Sent by themselves, the headers become one text; Node would keep them for as long as the answer is open as the pieces that it was made of.
  response.flushHeaders();
  response.on('close', open(new StreamConnection(response)));
}

type SizedAnswer = Answer & { readonly byteLength: number };

function sendHead(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers, byteLength }: SizedAnswer,
): ServerResponse {
  reply.hijack();
  request.server.requestCounts.note(request, status, sentBytesOf(request, byteLength));
  return reply.raw.writeHead(status, {
    ...commonHeaders(request),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': byteLength,
  });
}

/** The bytes of the body that is sent; none are for a HEAD. */
function sentBytesOf({ method }: FastifyRequest, bytes: number): number {
  return method === 'HEAD' ? 0 : bytes;
}

function sendLarge(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: SizedAnswer & { readonly texts: readonly string[] },
): void {
  const response = sendHead(request, reply, answer);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  // Otherwise Node joins headers and text to a new string, which is one more copy of the text.
  response.flushHeaders();
  const { texts, byteLength } = answer;
  // Not awaited: nothing else waits for the client to read.
  void sendTexts(response, texts.toReversed(), { memory: answerMemory(request), byteLength });
}

/** The memory of the answer to a request, in the ledger of all. */
export function answerMemory(request: FastifyRequest, client?: string): AnswerMemory {
  return (request.answerMemory ??= new AnswerMemory(request.server.memory, shareOf(request, client)));
}

function shareOf({ report, instanceEntry, raw }: FastifyRequest, client?: string): Share {
  const addressOf = report?.address ?? undefined;
  const address = client ?? (addressOf === undefined ? '' : clientKey(addressOf()));
  return { instance: instanceEntry?.id ?? '', address, signal: raw.signal };
}
