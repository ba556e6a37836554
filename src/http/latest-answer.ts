import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const answers = new WeakMap<Duplex, ServerResponse>();

/** Notes the answers of a server before anything else hears of their requests, whoever answers them. */
export function noteLatestAnswers(server: Server): void {
  const note = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    answers.set(socket, response);
  };
  server.prependListener('request', note);
  server.prependListener('checkExpectation', note);
}

/** Of a connection the answer to its latest request: Node gives answers in the order of requests, so all others come before it. */
export function latestAnswer(socket: Duplex): ServerResponse | undefined {
  return answers.get(socket);
}
