import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface Noted {
  readonly latest: ServerResponse;
  /** What had been read when its request was parsed: the same for all requests that came in one read. */
  readonly bytesRead: number;
  /** The answer before it, if the client has not waited for that. */
  readonly ahead: ServerResponse | undefined;
}

const notes = new WeakMap<Duplex, Noted>();

/** Notes the answers of a server before anything else hears of their requests, whoever answers them. */
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

/** Of a connection the answer to its latest request: Node gives answers in the order of requests, so all others come before it. */
export function latestAnswer(socket: Duplex): ServerResponse | undefined {
  return notes.get(socket)?.latest;
}

/** The answer before the latest, if the client has not waited for it before it asked again: it was not out, or both came in one read. */
export function answerAhead(socket: Duplex): ServerResponse | undefined {
  return notes.get(socket)?.ahead;
}
