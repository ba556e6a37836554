import type { Paths } from './document.ts';
import { emptyAnswer, jsonAnswer, operation } from './operation.ts';

const tagged = { ETag: 'DocumentTag' } as const;

/** The description itself. */
export const descriptionPaths: Paths = {
  '/api/openapi.json': {
    get: operation({
      id: 'describe',
      tag: 'description',
      summary: 'This document; for superusers with the collections of the instance',
      parameters: ['Fields', 'IfNoneMatch'],
      answers: {
        200: jsonAnswer(
          'A document in the form of OpenAPI 3.1.',
          { type: 'object', additionalProperties: true },
          tagged,
        ),
        304: emptyAnswer('The document is as `If-None-Match` knows it.', tagged),
      },
    }),
  },
};
