import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ownMember } from '../../base/json.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { refreshSignIn, signIn, type SignedIn } from '../../auth/sign-in.ts';
import { recordToJson } from '../../records/record.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { onInstance } from '../on-instance.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Signing in. */
export function authRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post<CollectionPath>(
    '/api/collections/:collection/auth-with-password',
    onInstance<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const { collection } = request.params;
      const body = bodyOf(request);
      const asked = { collection, identity: ownMember(body, 'identity') };
      const signedIn = await request.server.admission.signIn({ instance, request }, asked, () =>
        signIn(instance, collection, body),
      );
      return answerSignedIn(request, reply, signedIn);
    }),
  );

  app.post<CollectionPath>(
    '/api/collections/:collection/auth-refresh',
    onInstance<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const { authorization } = request.headers;
      const signedIn = await refreshSignIn(instance, request.params.collection, authorization);
      return answerSignedIn(request, reply, signedIn);
    }),
  );
}

function answerSignedIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { record, token }: SignedIn,
): FastifyReply {
  const json = `{"record":${recordToJson(record, false)},"token":${JSON.stringify(token)}}`;
  return answer(request, reply, { json, headers: { 'cache-control': 'no-store' } });
}
