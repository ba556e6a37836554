import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

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
export function answerAhead(socket: Duplex): ServerResponse | undefined {
  return notes.get(socket)?.ahead;
}
