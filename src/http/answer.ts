import type { FastifyReply, FastifyRequest } from 'fastify';
import type { QueryReader } from '../lists/list-query.ts';
import { parseFields, pickFields, type Projection } from '../lists/projection.ts';
import { queryOf } from './query-string.ts';
import { sendAnswer } from './send-answer.ts';

/** Sends JSON text, with only the members that `?fields=` asks for. In a list it asks for members of the items. */
export function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  content: {
    readonly json: string;
    readonly status?: number;
    readonly isList?: boolean;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<void> | undefined {
  const { json, status = 200, headers = none } = content;
  const project = content.isList === true ? projectedList : projected;
  // A sign-in that asks for a second factor is no success, and its client needs the whole answer to go on.
  const shown = status < 300 ? project(queryOf(request), json) : json;
  return sendAnswer(request, reply, { status, json: shown, headers });
}

const none = {};

/** Answers 204 without a body. */
export function answerNothing(request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined {
  return sendAnswer(request, reply, { status: 204 });
}

/** Throws bad_request for an invalid `fields`, before anything is changed rather than when the answer is written. */
export function checkFields(query: QueryReader): void {
  projectionOf(query);
}

/** JSON text with only the members that `fields` of the query asks for. */
export function projected(query: QueryReader, json: string): string {
  const projection = projectionOf(query);
  return projection === undefined ? json : JSON.stringify(pickFields(JSON.parse(json), projection));
}

function projectedList(query: QueryReader, json: string): string {
  const projection = projectionOf(query);
  if (projection === undefined) return json;
  // A list is made by `listJson` and is an object with `items`.
  const list = JSON.parse(json) as { readonly items: unknown };
  return JSON.stringify({ ...list, items: pickFields(list.items, projection) });
}

function projectionOf(query: QueryReader): Projection | undefined {
  const fields = query.get('fields');
  return fields === null || fields === '' ? undefined : parseFields(fields);
}
