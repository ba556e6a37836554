import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { superusersName } from '../../instances/system-collections.ts';
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
      if (instance.collections.find(request.params.collection)?.name === superusersName)
        request.server.admission.requireSuperuserPlace(instance, request);
      const signedIn = await signIn(instance, request.params.collection, bodyOf(request));
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
