import type { Duplex } from 'node:stream';
import { newId } from '../base/ids.ts';
import { errorBody } from './error-response.ts';
import { nodeHttp } from './node-http.ts';
import { standardHeaders } from './standard-headers.ts';

/** A reset would take the answer from a client that is still sending; one that never hangs up is not waited for. */
const lingerMs = 1_000;

/** Answers bytes that are no request: no route and no hook ever sees these. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = told(error.code);
  const body = errorBody(status, message, {});
  const head = [
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...Object.entries(standardHeaders(newId())).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function told(code: string | undefined): readonly [number, string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'The request headers are too large.'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'Request entity too large.'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'The request took too long to arrive.'];
    default:
      return [400, 'The request is not valid HTTP.'];
  }
}
