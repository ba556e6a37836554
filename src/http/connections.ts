import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

interface Noted {
  readonly latest: ServerResponse;
  /** Bytes read from the connection when the request was parsed: equal for all requests that came in one read. */
  readonly bytesRead: number;
  /** The previous answer on the connection, if the client sent this request without waiting for it. */
  readonly ahead: ServerResponse | undefined;
}

const notes = new WeakMap<Duplex, Noted>();

/** Notes every answer of a server before any other listener sees its request. */
export function noteLatestAnswers(server: Server): void {
  const note = ({ socket }: IncomingMessage, latest: ServerResponse): void => {
    const before = notes.get(socket);
    const { bytesRead } = socket;
    const hasWaited = before?.latest.writableFinished !== false && before?.bytesRead !== bytesRead;
    notes.set(socket, { latest, bytesRead, ahead: hasWaited ? undefined : before?.latest });
  };
  server.prependListener('request', note);
  server.prependListener('checkExpectation', note);
}

/** Returns the answer to a connection's latest request. Node sends answers in the order of requests, so all others precede it. */
export function latestAnswer(socket: Duplex): ServerResponse | undefined {
  return notes.get(socket)?.latest;
}

/** Returns the answer before the latest if the client did not wait for it: it was not sent yet, or both requests came in one read. */
function answerAhead(socket: Duplex): ServerResponse | undefined {
  return notes.get(socket)?.ahead;
}

/**
 * Begins a request at once. For a client that pipelines, begins one request per turn of the event loop, when the answer before it on
 * its connection was sent. Otherwise the hundreds of requests that fit into one read would occupy the whole process, and their
 * answers its memory until they are read. Must be called before anything else sees the request.
 */
export function onePipelinedRequestAtATime({ socket }: IncomingMessage, begin: () => void): void {
  // The last answer of the connection was sent: what comes behind its request is discarded.
  if (socket.writableEnded) return;
  const ahead = answerAhead(socket);
  if (ahead === undefined) return begin();
  pause(socket);
  const goOn = (): void => {
    // The connection has ended, so no answer could be sent.
    if (!socket.writable) return;
    resume(socket);
    begin();
  };
  if (ahead.closed) setImmediate(goOn);
  else ahead.once('close', () => setImmediate(goOn));
}

/** Number of requests of each connection that wait for their turn. */
const waiting = new WeakMap<Socket, number>();

/** Stops reading from a connection while any of its requests waits: whatever is read is parsed, and would wait as well. */
function pause(socket: Socket): void {
  const count = waiting.get(socket) ?? 0;
  waiting.set(socket, count + 1);
  // Node resumes reading whenever a body is asked for, or when a request is answered without reading its body.
  if (count === 0) socket.on('resume', pauseAgain);
  socket.pause();
}

function resume(socket: Socket): void {
  const count = (waiting.get(socket) ?? 1) - 1;
  waiting.set(socket, count);
  if (count > 0) return;
  socket.off('resume', pauseAgain);
  socket.resume();
}

function pauseAgain(this: Socket): void {
  this.pause();
}

/**
 * Makes a server's `closeIdleConnections` do nothing while any connection has unsent bytes; call it repeatedly. Node counts a
 * connection as idle as soon as its answer was handed over, sent or not, and closing it then would truncate the answer for a slow
 * reader. Also makes `closeAllConnections` close the connections that Node has let go of after a CONNECT.
 */
export function closeGently(server: Server): void {
  const sockets = new Set<Socket>();
  // The same function for all: one of its own would take 200 bytes of each idle connection.
  function forget(this: Socket): void {
    sockets.delete(this);
  }
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeAll = server.closeAllConnections.bind(server);
  onConnection(server, (socket) => {
    sockets.add(socket);
    socket.on('close', forget);
  });
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (socket.writableLength > 0) return;
    closeIdle();
  };
  server.closeAllConnections = () => {
    for (const socket of sockets) socket.destroy();
    closeAll();
  };
}

/** Calls `listener` with each connection of a server, before its first request. */
export function onConnection(server: Server, listener: (socket: Socket) => void): void {
  // The 'connection' of a TLS server is the raw socket below the one that its answers go to.
  server.on('setSecureContext' in server ? 'secureConnection' : 'connection', listener);
}

/** What one request or connection may cost (http-api A20, section 4). */
export const httpLimits = {
  /** All header lines of a request together; Node answers 431 above. */
  headerBytesMax: 16 * 1024,
  bodyBytesMax: 32 * 1024 * 1024,
  /** Of a batch with files, unless its instance has another limit. */
  batchFormBytesMax: 128 * 1024 * 1024,
  /** Each costs a thousand times as much as its bytes. */
  formFieldsMax: 1_000,
  partHeaderBytesMax: 4 * 1024,
  partHeaderLinesMax: 16,
  /** Of bodies and answers in memory, of all clients together (`--answer-memory`). */
  memoryBytesMax: 512 * 1024 * 1024,
  /** Smaller answers are not counted: the system takes them at once. */
  smallAnswerBytesMax: 64 * 1024,
  /** 255 bytes of an id, percent-encoded. */
  paramLengthMax: 1_000,
  /** Fewer where the process may open few files (connections.ts). */
  connectionsMax: 10_000,
  /** A client that drips its headers is cut off after this long. */
  headersTimeoutMs: 10_000,
  /** For a whole request with its body. */
  requestTimeoutMs: 300_000,
  /** How long nothing may move on a connection in the middle of a request: its client does not read the answer. */
  stalledMs: 300_000,
  /** Longer than the idle time of common load balancers, or they would reuse a connection that we are closing. */
  keepAliveTimeoutMs: 65_000,
  /** How often the time-outs above are checked. */
  checkIntervalMs: 5_000,
} as const;
/**
 * `node:http` without an import statement, which would read every export. One of them, `WebSocket`, loads the whole client behind
 * `fetch`: 15 MB of memory and a tenth of the start, for something that nothing here uses.
 */
export const nodeHttp = process.getBuiltinModule('node:http');

/** Loaded when it is called: hardly any process needs it. */
export function nodeHttps(): ReturnType<typeof process.getBuiltinModule<'node:https'>> {
  return process.getBuiltinModule('node:https');
}

/**
 * Returns how many connections clients may have when the process may have this many files open: at most half of them. The rest is for
 * databases, webhooks and mails, which would all fail once idle clients had taken the last file.
 */
export function connectionsMax(openFilesMax: number): number {
  return Math.min(httpLimits.connectionsMax, Math.max(1, Math.floor(openFilesMax / 2)));
}

/**
 * Lets clients that wait with their body for `100 Continue` send it only once it is read. A request that is refused before gets its
 * refusal at once, and the body is never sent. Node then closes the connection, because the client may send the body all the same.
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Node also reads the rest of a body after the answer, to discard it.
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    server.emit('request', request, response);
  });
}

/** Long enough for a client to come to the end of its body, or to see the answer and stop. */
const lingerMs = 5_000;

/**
 * Call it before the last answer of a connection, with the request that it is for. Node closes the connection right after the answer;
 * from a client that is still sending its body the next bytes would then reset it, and the client would see a broken connection in
 * place of the answer. So only our side is ended, and what still comes is discarded, for a few seconds.
 */
export function linger(request: IncomingMessage): void {
  const { socket } = request;
  const closeNow = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (request.complete) return closeNow();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
  };
}
