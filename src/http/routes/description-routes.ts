import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { digest } from '../../secrets/digest.ts';
import { projected } from '../answer.ts';
import { isAlreadyKnown } from '../entity-tag.ts';
import { onInstance } from '../on-instance.ts';
import { serviceDocument } from '../openapi/service-document.ts';
import { queryOf } from '../query-string.ts';
import { writeAnswer } from '../write-answer.ts';

export interface DescriptionOptions {
  readonly instances: OpenInstances;
  readonly version: string;
}

/** What there is to ask of the service, for programs. */
export function descriptionRoutes(app: FastifyInstance, { instances, version }: DescriptionOptions): void {
  const service = JSON.stringify(serviceDocument(version));
  app.get(
    '/api/openapi.json',
    onInstance(instances, async (_context, request, reply) => {
      const json = projected(queryOf(request), service);
      // Kept by nobody without asking: what it tells depends on who asks.
      const headers = { etag: `"${digest(json)}"`, 'cache-control': 'no-cache' };
      const isFresh = isAlreadyKnown(request.headers['if-none-match'], headers.etag);
      return writeAnswer(request, reply, isFresh ? { status: 304, headers } : { status: 200, json, headers });
    }),
  );
}
