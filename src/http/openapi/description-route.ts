import { hasScope } from '../../access/caller.ts';
import { projectedInTurns } from '../answer.ts';
import type { Descriptions } from './descriptions.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { describe, type Description } from '../schemas/schema.ts';
import { isAlreadyKnown } from '../record-answer.ts';
import type { RequestContext, Services } from '../request-context.ts';
import { type Route, route } from '../route.ts';

const tagged = { ETag: 'DocumentTag' } as const;

/** The OpenAPI description of all routes, itself included, which for superusers includes the collections of their instance. */
export function descriptionRoute(allRoutes: () => readonly Route[]): Route {
  let descriptions: Promise<Descriptions> | undefined;
  return route({
    method: 'GET',
    path: '/api/openapi.json',
    id: 'describe',
    tag: 'description',
    scope: 'any',
    summary: 'Get this document; for superusers with the collections of the instance',
    parameters: ['Fields', 'IfNoneMatch'],
    answers: {
      200: jsonAnswer(
        'A document in the form of OpenAPI 3.1.',
        { type: 'object', additionalProperties: true },
        tagged,
      ),
      304: emptyAnswer('The document still has the tag of `If-None-Match`.', tagged),
    },
    handle: async (context) => {
      // Concurrent requests share this promise, and with it the documents that are already made.
      descriptions ??= loadDescriptions(context.services, allRoutes());
      const whole = await describeFor(context, await descriptions);
      const part = await projectedInTurns(context.query, whole.json);
      const { json, etag } = part === whole.json ? whole : describe(part);
      // Also for guests: the document changes with each version.
      const headers = { etag, 'cache-control': 'private, no-cache' };
      const isFresh = isAlreadyKnown(context.request.headers['if-none-match'], etag);
      return isFresh ? { status: 304, headers } : { status: 200, json, headers };
    },
  });
}

/** Loads what makes the documents on the first request for one: no other request needs it. */
async function loadDescriptions({ version }: Services, allRoutes: readonly Route[]): Promise<Descriptions> {
  const { Descriptions } = await import('./descriptions.ts');
  return new Descriptions(version, allRoutes);
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
