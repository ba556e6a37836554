import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authMethodsJson } from '../../auth/auth-methods-json.ts';
import { callerOf } from '../../auth/caller-of.ts';
import { impersonate } from '../../auth/impersonate.ts';
import { refreshSignIn } from '../../auth/refresh-sign-in.ts';
import { signIn, type SignedIn } from '../../auth/sign-in.ts';
import { withAuthCollection } from '../../auth/with-auth-collection.ts';
import { ownMember } from '../../base/json.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { presentRecords } from '../../records/present-records.ts';
import { valueOf } from '../../records/record.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { onInstance, onInstanceAsSuperuser } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

interface CollectionPath {
  Params: { collection: string };
}

interface RecordPath {
  Params: { collection: string; id: string };
}

/** Signing in, in every collection of accounts. */
export function authRoutes(app: FastifyInstance, instances: OpenInstances): void {
  const path = '/api/collections/:collection';
  app.get<CollectionPath>(
    `${path}/auth-methods`,
    onInstance<CollectionPath>(instances, async ({ instance }, request, reply) => {
      const json = await withAuthCollection(instance, request.params.collection, async (collection) =>
        authMethodsJson(collection),
      );
      return answer(request, reply, { json });
    }),
  );

  app.post<CollectionPath>(
    `${path}/auth-with-password`,
    onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const { collection } = request.params;
      const body = bodyOf(request);
      const asked = { collection, identity: ownMember(body, 'identity') };
      const facts = { ...factsOf(request, caller), body };
      const signedIn = await request.server.admission.signIn({ instance, request }, asked, () =>
        signIn(instance, facts, collection),
      );
      return answerSignedIn(request, reply, { instance, signedIn });
    }),
  );

  app.post<CollectionPath>(
    `${path}/auth-refresh`,
    onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const { collection } = request.params;
      const header = request.headers.authorization;
      const signedIn = await refreshSignIn(instance, factsOf(request, caller), { collection, header });
      return answerSignedIn(request, reply, { instance, signedIn });
    }),
  );

  app.post<RecordPath>(
    `${path}/impersonate/:id`,
    onInstanceAsSuperuser<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
      const actor = factsOf(request, caller);
      const signedIn = await impersonate(instance, { ...request.params, body: bodyOf(request), actor });
      return answerSignedIn(request, reply, { instance, signedIn });
    }),
  );
}

/** The account as it sees itself. */
async function answerSignedIn(
  request: FastifyRequest<object>,
  reply: FastifyReply,
  { instance, signedIn }: { readonly instance: Instance; readonly signedIn: SignedIn },
): Promise<FastifyReply> {
  const { collection, record, token } = signedIn;
  const caller = callerOf(collection, String(valueOf(record, 'id')));
  const [shown = ''] = await presentRecords({ instance, facts: factsOf(request, caller) }, [record]);
  const json = `{"record":${shown},"token":${JSON.stringify(token)}}`;
  return answer(request, reply, { json, headers: { 'cache-control': 'no-store' } });
}
