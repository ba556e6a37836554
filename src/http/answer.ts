import type { QueryReader } from '../query/list-query.ts';
import { projectTexts } from '../query/project-texts.ts';
import { parseFields, pickFields, type Projection } from '../query/projection.ts';
import type { Connection } from '../realtime/client.ts';
import type { Content } from './send-content.ts';

/** The answer of a route. */
export interface Answer {
  readonly status: number;
  /** Absent for an answer without a body. */
  readonly json?: string | undefined;
  /** In place of `json`, for one that may be long: texts that are one JSON text together. */
  readonly texts?: readonly string[];
  /** Of `texts`, where they are long: then memory is reserved for them. */
  readonly byteLength?: number;
  /** In place of JSON; `headers` say what it is. */
  readonly content?: Content;
  /** An empty one takes away a header that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Takes the connection over, in place of a body, once status and headers are written. Returns what is called when it is closed. */
  readonly open?: (connection: Connection) => () => void;
}

/** The answer without a body. */
export const nothing: Answer = { status: 204 };

/** The answer with plain text. */
export function textAnswer(status: number, text: string, headers: Answer['headers'] = {}): Answer {
  const body = Buffer.from(text);
  return {
    status,
    content: { length: body.length, body },
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
  };
}

/** Headers for answers that no cache may keep, as they hold a secret. */
export const notStored = { 'cache-control': 'no-store' };

/** Throws bad_request for an invalid `fields`, before anything is changed rather than when the answer is written. */
export function checkFields(query: QueryReader): void {
  projectionOf(query);
}

/** JSON text with only the members that `fields` of the query asks for. */
export function projected(query: QueryReader, json: string): string {
  const projection = projectionOf(query);
  return projection === undefined ? json : JSON.stringify(pickFields(JSON.parse(json), projection));
}

/** A shorter text is read and written in less than a turn of the event loop may take. */
const longLength = 64 * 1024;

/** As {@link projected}; other work goes on between the pieces of a long text. */
export function projectedInTurns(query: QueryReader, json: string): string | Promise<string> {
  if (json.length < longLength) return projected(query, json);
  const projection = projectionOf(query);
  return projection === undefined ? json : projectTexts([json], projection).then(([text = '']) => text);
}

function projectionOf(query: QueryReader): Projection | undefined {
  const fields = query.get('fields');
  return fields === null || fields === '' ? undefined : parseFields(fields);
}

/** Returns the headers that every answer carries, also where Fastify is not involved. */
export function standardHeaders(requestId: string): Record<string, string> {
  return {
    // Also on answers to guests: a cache must not give such an answer to a caller with a token.
    vary: 'Origin, Authorization',
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'x-xss-protection': '1; mode=block',
    // An answer is data: a browser that opens one as a page loads nothing, shows it in no frame and tells no address of it.
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-site',
    'referrer-policy': 'no-referrer',
  };
}
