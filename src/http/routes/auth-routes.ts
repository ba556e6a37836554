import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refreshSignIn, signIn, type SignedIn } from '../../auth/sign-in.ts';
import { recordToJson } from '../../records/record.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { instanceOf } from '../request-context.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Signing in. */
export function authRoutes(app: FastifyInstance): void {
  app.post<CollectionPath>('/api/collections/:collection/auth-with-password', async (request, reply) => {
    const signedIn = await signIn(instanceOf(request), request.params.collection, bodyOf(request));
    return answerSignedIn(request, reply, signedIn);
  });

  app.post<CollectionPath>('/api/collections/:collection/auth-refresh', async (request, reply) => {
    const { authorization } = request.headers;
    const signedIn = await refreshSignIn(instanceOf(request), request.params.collection, authorization);
    return answerSignedIn(request, reply, signedIn);
  });
}

function answerSignedIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { record, token }: SignedIn,
): FastifyReply {
  reply.header('cache-control', 'no-store');
  const json = `{"record":${recordToJson(record, false)},"token":${JSON.stringify(token)}}`;
  return answer(request, reply, { json });
}
