import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Of each connection the answer to its latest request: Node gives answers in the order of requests, so all others come before it. */
export const latestAnswer = new WeakMap<Duplex, ServerResponse>();
