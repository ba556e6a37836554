import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authMethodsJson } from '../../auth/auth-methods-json.ts';
import { callerOf } from '../../instances/caller-of.ts';
import { impersonate } from '../../auth/impersonate.ts';
import { noteOrigin } from '../../auth/note-origin.ts';
import { refreshSignIn } from '../../auth/refresh-sign-in.ts';
import { signIn, type PasswordSignIn } from '../../auth/sign-in.ts';
import { signInWithOtp } from '../../auth/sign-in-with-otp.ts';
import type { SignedIn, SignInResult } from '../../auth/signed-in.ts';
import { withAuthCollection } from '../../auth/with-auth-collection.ts';
import { ownMember } from '../../base/json.ts';
import type { Instance } from '../../instances/instance.ts';
import { presentRecords } from '../../records/present-records.ts';
import { withCurrentDefinitions } from '../../instances/with-current-definitions.ts';
import { valueOf } from '../../records/record.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstance, onInstanceAsSuperuser } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';
import { runAfterAnswer, type AfterAnswer } from '../run-after-answer.ts';

interface CollectionPath {
  Params: { collection: string };
}

interface RecordPath {
  Params: { collection: string; id: string };
}

/** Signing in, in every collection of accounts. */
export function authRoutes(app: FastifyInstance, options: AfterAnswer): void {
  const { instances } = options;
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
    { config: { formValues: 'texts' } },
    onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const { collection } = request.params;
      const { admission } = request.server;
      const facts = { ...factsOf(request, caller), body: bodyOf(request) };
      const guard: PasswordSignIn['guard'] = (named, run) =>
        admission.signIn({ instance, request }, { collection, ...named }, run);
      const result = await signIn(instance, facts, { collection, guard });
      return answerSignIn(request, reply, { instance, result, options });
    }),
  );

  app.post<CollectionPath>(
    `${path}/auth-with-otp`,
    { config: { formValues: 'texts' } },
    onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const { collection } = request.params;
      const { admission } = request.server;
      const body = bodyOf(request);
      const asked = { collection, identity: ownMember(body, 'otpId') };
      const facts = { ...factsOf(request, caller), body };
      const from = { collection, address: admission.addressOf(instance, request) };
      const result = await admission.signIn({ instance, request }, asked, () =>
        signInWithOtp(instance, facts, from),
      );
      return answerSignIn(request, reply, { instance, result, options });
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

interface SignInAnswer {
  readonly instance: Instance;
  readonly result: SignInResult;
  readonly options: AfterAnswer;
}

/** Answers with account and token, or 401 with an `mfaId` for the second factor. After the answer, the owner is told of a new place. */
async function answerSignIn(
  request: FastifyRequest<object>,
  reply: FastifyReply,
  { instance, result, options }: SignInAnswer,
): Promise<void> {
  if (result.kind === 'second factor') {
    const json = JSON.stringify({ mfaId: result.mfaId });
    return answer(request, reply, { status: 401, json, headers: { 'cache-control': 'no-store' } });
  }
  const { signedIn } = result;
  const address = request.server.admission.addressOf(instance, request);
  const work = noteOrigin(signedIn, { address, userAgent: request.headers['user-agent'] ?? '' });
  if (work !== undefined) await runAfterAnswer(options, request, work);
  return answerSignedIn(request, reply, { instance, signedIn });
}

/** Answers with the account as the account itself may see it, and its token. */
async function answerSignedIn(
  request: FastifyRequest<object>,
  reply: FastifyReply,
  { instance, signedIn }: { readonly instance: Instance; readonly signedIn: SignedIn },
): Promise<void> {
  const { collection, record, token } = signedIn;
  const caller = callerOf(collection, String(valueOf(record, 'id')));
  const facts = factsOf(request, caller);
  const [shown = ''] = await withCurrentDefinitions(() => presentRecords({ instance, facts }, [record]));
  const json = `{"record":${shown},"token":${JSON.stringify(token)}}`;
  return answer(request, reply, { json, headers: { 'cache-control': 'no-store' } });
}
