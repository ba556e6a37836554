import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../base/ids.ts';
import { errorBody } from './error-response.ts';
import { httpLimits } from './http-limits.ts';
import { latestAnswer } from './latest-answer.ts';
import { nodeHttp } from './node-http.ts';
import { standardHeaders } from './standard-headers.ts';

/** How long to keep reading after the answer: a reset would take it from a client that is still sending. Then the socket is destroyed. */
const lingerMs = 1_000;

const timedOut = 'ERR_HTTP_REQUEST_TIMEOUT';

interface ClientError extends Error {
  readonly code?: string;
}

/** Connections on which such an answer waits for earlier ones. Their further errors are ignored. */
const waiting = new WeakSet<Duplex>();

/**
 * Answers bytes that are no valid request, which no route and no hook ever sees. It waits for the answers to earlier requests on the
 * connection: a client would otherwise take this for the answer to the first of them that is still open.
 */
export function answerClientError(error: ClientError, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (waiting.has(socket)) return;
  const before = latestAnswer(socket);
  if (error.code === timedOut && before?.req.complete === true && !before.writableFinished) {
    allowTimeAfter(before, socket, error);
    return;
  }
  // The bytes belong to the body of the latest request, which has no answer yet: this becomes its answer, when its turn comes.
  const isItself = before !== undefined && !before.req.complete && !before.writableEnded;
  if (before === undefined || before.writableFinished || (isItself && before.socket !== null)) {
    if (before?.writableEnded === true && !before.req.complete) socket.end();
    else endWith(error, socket);
    setTimeout(() => socket.destroy(), lingerMs).unref();
    return;
  }
  waiting.add(socket);
  before.once(before.socket === null ? 'socket' : 'close', () => {
    waiting.delete(socket);
    answerClientError(error, socket);
  });
}

/**
 * Gives the headers of a request their time again once the answer before them is out: while requests of a connection wait, nothing of
 * it is read, so the rest of the headers may have come in time. Node reports the time-out of a request only once.
 */
function allowTimeAfter(before: ServerResponse, socket: Duplex, error: ClientError): void {
  const look = (): void => {
    if (latestAnswer(socket) === before) answerClientError(error, socket);
  };
  before.once('close', () => setTimeout(look, httpLimits.headersTimeoutMs).unref());
}

function endWith({ code }: ClientError, socket: Duplex): void {
  const [status, message] = told(code);
  const body = errorBody(status, message, {});
  const head = [
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...Object.entries(standardHeaders(newId())).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function told(code: string | undefined): readonly [number, string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'The request headers are too large.'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'Request entity too large.'];
    case timedOut:
      return [408, 'The request took too long to arrive.'];
    default:
      return [400, 'The request is not valid HTTP.'];
  }
}
