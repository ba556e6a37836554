import { Buffer } from 'node:buffer';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

/** What Node's HTTP server publishes about each request before it is answered. */
interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const channel = 'http.server.request.start';

/**
 * Notes the body of every answer that this process's server on a port gives, whatever the client: `fetch`, a client library or a
 * socket. `where` is a method and a path.
 */
export function noteAnswers(t: TestContext, port: number, note: (where: string, text: string) => void): void {
  const onStart = (started: unknown): void => {
    // As the documentation of node:diagnostics_channel has it.
    const { request, response } = started as Started;
    if (request.socket.localPort === port) noteAnswer(request, response, note);
  };
  subscribe(channel, onStart);
  t.after(() => unsubscribe(channel, onStart));
}

function noteAnswer(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  note: (where: string, text: string) => void,
): void {
  const parts: Buffer[] = [];
  const keep = (chunk: unknown): void => {
    if (typeof chunk === 'string') parts.push(Buffer.from(chunk));
    else if (chunk instanceof Uint8Array) parts.push(Buffer.from(chunk));
  };
  for (const name of ['write', 'end'] as const) {
    // Overloads: whatever is given is given on, and what comes of it given back.
    const send = response[name].bind(response) as (...args: readonly unknown[]) => never;
    response[name] = (...args: readonly unknown[]): never => {
      keep(args[0]);
      return send(...args);
    };
  }
  const [path = ''] = (url ?? '').split('?');
  response.once('finish', () => note(`${method} ${path}`, Buffer.concat(parts).toString()));
}
