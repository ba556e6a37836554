import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, type ErrorCode, type ErrorEnvelope, type FieldErrors, notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { codeOf } from '../base/process.ts';
import { standardHeaders } from './answer.ts';
import { httpLimits, latestAnswer, nodeHttp } from './connections.ts';

/** The status of the answer for each error code. */
const statusOf: Readonly<Record<ErrorCode, number>> = {
  bad_request: 400,
  broken_rule: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  too_slow: 408,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unprocessable: 422,
  too_many_requests: 429,
  outcome_unknown: 500,
  unavailable: 503,
  storage_full: 507,
  quota_full: 507,
};

/** Returns the code of an error that a host has answered with this status; undefined for one that it does not tell of. */
export function codeOfStatus(status: number): ErrorCode | undefined {
  if (status === 500) return undefined;
  // The keys are those of the record.
  return (Object.keys(statusOf) as ErrorCode[]).find((code) => statusOf[code] === status);
}

const NOTHING_TOLD = 'Something went wrong while processing your request.';

export interface ErrorAnswer {
  readonly status: number;
  readonly body: string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** True when the service is at fault, so that the operator must know. */
  readonly isOurs: boolean;
}

/** The answer of a host in another thread to a request that failed there, which it has logged. */
export class FailedAnswer extends Error {
  override readonly name = 'FailedAnswer';
  readonly answer: ErrorAnswer;

  constructor(answer: ErrorAnswer) {
    super(`The host has answered ${answer.status}.`);
    this.answer = answer;
  }
}

/** Returns the answer to whatever a handler threw. Only an AppError's message reaches the caller; anything else says nothing. */
export function toErrorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof FailedAnswer) return { ...error.answer, isOurs: false };
  if (error instanceof AppError) {
    const status = statusOf[error.code];
    const body = errorBody(status, error.message, error.details);
    return {
      status,
      body,
      retryAfter: error.retryAfter,
      isOurs: status >= 500 && error.code !== 'quota_full',
    };
  }
  const framework = frameworkError(error);
  if (framework !== undefined) return toErrorAnswer(framework);
  return { status: 500, body: errorBody(500, NOTHING_TOLD, {}), retryAfter: undefined, isOurs: true };
}

function errorBody(status: number, message: string, data: FieldErrors): string {
  return JSON.stringify({ data, message: sentence(message), status });
}

/** Returns the body of an error's answer as a value. */
export function errorEnvelope(error: AppError): ErrorEnvelope {
  return { data: error.details, message: sentence(error.message), status: statusOf[error.code] };
}

/** Translates what Fastify itself refuses before a handler runs into our own error. */
function frameworkError(error: unknown): AppError | undefined {
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new AppError('unsupported_media_type', 'Unsupported Content-Type.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new AppError('bad_request', NOTHING_TOLD);
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return notFound();
    default:
      return undefined;
  }
}

function sentence(message: string): string {
  const text = message.trim();
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(first) ? first : `${first}.`;
}

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
  const [status, message] = malformedAnswer(code);
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

function malformedAnswer(code: string | undefined): readonly [number, string] {
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

/** Answers a request that expects anything but `100-continue`. Node passes it to no route, and would refuse it without a body. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = errorBody(417, 'Only the expectation "100-continue" can be met.', {});
  response
    .writeHead(417, {
      ...standardHeaders(newId()),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    })
    .end(body);
}

/**
 * Refuses a CONNECT. Node has let go of the connection by then: without listeners an error on it would end the process, and a
 * connection whose client does not read the answers before this one would stay open for ever.
 */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex): void {
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  answerClientError(new Error('This is no proxy.'), socket);
}

/** Paths of the reference that have no routes here, and what is said there instead of "not found". */
const absentFeatures: readonly (readonly [paths: RegExp, sentence: string])[] = [
  [/^\/api\/sql$/, 'The SQL console is not offered: superusers of an instance have no access to its engine.'],
  [/^\/_\/extensions(?:\.js$|\/)/, 'Extensions of the dashboard are not offered.'],
];

/** Returns what to say on the path of a feature that the reference has and this service has not; undefined for any other path. */
export function findAbsentFeature(path: string): string | undefined {
  return absentFeatures.find(([paths]) => paths.test(path))?.[1];
}
