import type { IncomingMessage, ServerResponse } from 'node:http';
import { newId } from '../base/ids.ts';
import { errorBody } from './error-response.ts';
import { standardHeaders } from './standard-headers.ts';

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
