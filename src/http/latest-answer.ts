import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface Answers {
  readonly latest: ServerResponse;
  /** The one to the request before that one. */
  readonly before: ServerResponse | undefined;
}

const answers = new WeakMap<Duplex, Answers>();

/** Notes the answers of a server before anything else hears of their requests, whoever answers them. */
export function noteLatestAnswers(server: Server): void {
  const note = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    answers.set(socket, { latest: response, before: latestAnswer(socket) });
  };
  server.prependListener('request', note);
  server.prependListener('checkExpectation', note);
}

/** Of a connection the answer to its latest request: Node gives answers in the order of requests, so all others come before it. */
export function latestAnswer(socket: Duplex): ServerResponse | undefined {
  return answers.get(socket)?.latest;
}

/** The one before the latest, where it is not out yet: the client did not wait for it. */
export function answerAhead(socket: Duplex): ServerResponse | undefined {
  const before = answers.get(socket)?.before;
  return before?.writableFinished === false ? before : undefined;
}
