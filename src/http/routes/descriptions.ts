import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { hasScope } from '../../access/caller.ts';
import { projected, sendAnswer } from '../answer.ts';
import { isAlreadyKnown } from '../record-answer.ts';
import { onInstance, type RequestContext } from '../route.ts';
import { describe, type Description } from '../openapi/describe.ts';
import type { Descriptions } from '../openapi/descriptions.ts';
import { queryOf } from '../request.ts';

export interface DescriptionOptions {
  readonly instances: OpenInstances;
  readonly version: string;
}

/** The OpenAPI description of the service, which for superusers includes the collections of their instance. */
export function descriptionRoutes(app: FastifyInstance, { instances, version }: DescriptionOptions): void {
  let descriptions: Promise<Descriptions> | undefined;
  app.get(
    '/api/openapi.json',
    onInstance(instances, async (context, request, reply) => {
      // Concurrent requests share this promise, and with it the documents that are already made.
      const whole = await describeFor(context, await (descriptions ??= makeDescriptions(version)));
      const part = projected(queryOf(request), whole.json);
      const { json, etag } = part === whole.json ? whole : describe(part);
      // Also for guests: the document changes with each version.
      const headers = { etag, 'cache-control': 'private, no-cache' };
      const isFresh = isAlreadyKnown(request.headers['if-none-match'], etag);
      return sendAnswer(request, reply, isFresh ? { status: 304, headers } : { status: 200, json, headers });
    }),
  );
}

/** Loads the descriptions on the first request: their forty files would be a tenth of what each start loads. */
async function makeDescriptions(version: string): Promise<Descriptions> {
  const { Descriptions } = await import('../openapi/descriptions.ts');
  return new Descriptions(version);
}

async function describeFor(
  { caller, instance }: RequestContext,
  descriptions: Descriptions,
): Promise<Description> {
  if (caller.kind !== 'superuser' || !hasScope(caller, 'collections:read')) return descriptions.ofService;
  // Another node may have changed the definitions.
  await instance.refresh();
  return descriptions.ofInstance(instance, { withSystem: hasScope(caller, 'admin') });
}
