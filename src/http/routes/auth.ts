import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authMethodsJson, withAuthCollection } from '../../auth/auth-collection.ts';
import type { SignedIn, SignInResult } from '../../auth/finish-sign-in.ts';
import { signInWithOneTimePassword } from '../../auth/one-time-password.ts';
import { impersonate, refreshSignIn } from '../../auth/refresh-sign-in.ts';
import { recordSignInOrigin } from '../../auth/sign-in-alert.ts';
import { type PasswordSignIn, signIn } from '../../auth/sign-in.ts';
import { ownMember } from '../../base/json.ts';
import { withCurrentDefinitions } from '../../instances/current-collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { callerOf } from '../../instances/token-secrets.ts';
import { presentRecords } from '../../records/present-records.ts';
import { valueOf } from '../../records/record.ts';
import { type AfterAnswer, runAfterAnswer } from '../after-answer.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { jsonAnswer, operation } from '../openapi/operation.ts';
import { objectSchema, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstance, onInstanceAsSuperuser } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

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
      const facts = { ...ruleInput(request, caller), body: bodyOf(request) };
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
      const facts = { ...ruleInput(request, caller), body };
      const from = { collection, address: admission.addressOf(instance, request) };
      const result = await admission.signIn({ instance, request }, asked, () =>
        signInWithOneTimePassword(instance, facts, from),
      );
      return answerSignIn(request, reply, { instance, result, options });
    }),
  );

  app.post<CollectionPath>(
    `${path}/auth-refresh`,
    onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
      const { collection } = request.params;
      const header = request.headers.authorization;
      const signedIn = await refreshSignIn(instance, ruleInput(request, caller), { collection, header });
      return answerSignedIn(request, reply, { instance, signedIn });
    }),
  );

  app.post<RecordPath>(
    `${path}/impersonate/:id`,
    onInstanceAsSuperuser<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
      const actor = ruleInput(request, caller);
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
  const work = recordSignInOrigin(signedIn, { address, userAgent: request.headers['user-agent'] ?? '' });
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
  const facts = ruleInput(request, caller);
  const [shown = ''] = await withCurrentDefinitions(() => presentRecords({ instance, facts }, [record]));
  const json = `{"record":${shown},"token":${JSON.stringify(token)}}`;
  return answer(request, reply, { json, headers: { 'cache-control': 'no-store' } });
}

const answers = { 200: jsonAnswer('Signed in.', schemaReference('SignedIn')) };

const signInAnswers = {
  ...answers,
  401: jsonAnswer('Another way to sign in is asked for as well, with this id; or an API key is not valid.', {
    anyOf: [schemaReference('SecondFactor'), schemaReference('Error')],
  }),
};

/** Signing in. */
export const authPaths: Paths = {
  '/api/collections/{collection}/auth-methods': {
    get: operation({
      id: 'listAuthMethods',
      tag: 'auth',
      summary: 'How an account of the collection may sign in',
      parameters: ['Collection', 'Fields'],
      answers: { 200: jsonAnswer('The methods.', schemaReference('AuthMethods')) },
    }),
  },
  '/api/collections/{collection}/impersonate/{id}': {
    post: operation({
      id: 'impersonate',
      tag: 'auth',
      summary: 'A token of an account, which cannot be renewed',
      parameters: ['Collection', 'RecordId', 'Expand', 'Fields'],
      body: schemaReference('Impersonation'),
      isBodyOptional: true,
      answers,
      isForSuperusers: true,
    }),
  },
  '/api/collections/{collection}/auth-with-password': {
    post: operation({
      id: 'signInWithPassword',
      tag: 'auth',
      summary: 'Sign in with a password',
      parameters: ['Collection', 'Expand', 'Fields', 'MfaId'],
      body: schemaReference('Credentials'),
      answers: signInAnswers,
      refusals: [403, 409, 507],
    }),
  },
  '/api/collections/{collection}/request-otp': {
    post: operation({
      id: 'requestOtp',
      tag: 'auth',
      summary: 'Send an account a one-time password',
      parameters: ['Collection', 'Fields'],
      body: schemaReference('AccountAddress'),
      answers: {
        200: jsonAnswer(
          'If there is such an account, a mail is on its way.',
          objectSchema({ otpId: { type: 'string', description: 'To be sent back with the code.' } }),
        ),
      },
    }),
  },
  '/api/collections/{collection}/auth-with-otp': {
    post: operation({
      id: 'signInWithOtp',
      tag: 'auth',
      summary: 'Sign in with a one-time password',
      parameters: ['Collection', 'Expand', 'Fields', 'MfaId'],
      body: schemaReference('OneTimePassword'),
      answers: signInAnswers,
      refusals: [403, 409, 507],
    }),
  },
  '/api/collections/{collection}/auth-refresh': {
    post: operation({
      id: 'refreshSignIn',
      tag: 'auth',
      summary: 'A new token for the one of this request',
      parameters: ['Collection', 'Expand', 'Fields'],
      answers,
      refusals: [401, 403, 413, 415],
    }),
  },
};

const mfaId: Schema = {
  type: 'string',
  description: 'Of the answer to the first of two ways to sign in; here or in the query.',
};

export const authSchemas: Readonly<Record<string, Schema>> = {
  Credentials: objectSchema(
    {
      identity: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 512 },
      identityField: {
        type: 'string',
        description: 'Where the identity is looked for; anywhere if left out.',
      },
      mfaId,
    },
    ['identityField', 'mfaId'],
  ),
  OneTimePassword: objectSchema(
    {
      otpId: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 71, description: 'The code of the mail.' },
      mfaId,
    },
    ['mfaId'],
  ),
  SecondFactor: objectSchema({ mfaId: { type: 'string' } }),
  AuthMethods: objectSchema({
    password: objectSchema({
      identityFields: { type: 'array', items: { type: 'string' } },
      enabled: { type: 'boolean' },
    }),
    oauth2: objectSchema({ providers: { type: 'array', maxItems: 0 }, enabled: { const: false } }),
    mfa: methodSchema(),
    otp: methodSchema(),
    authProviders: { type: 'null' },
    usernamePassword: { type: 'boolean' },
    emailPassword: { type: 'boolean' },
  }),
  Impersonation: objectSchema(
    {
      duration: {
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 94_670_856,
        description: 'Seconds; 0 for as many as the collection says.',
      },
    },
    ['duration'],
  ),
  SignedIn: objectSchema({
    record: schemaReference('Record'),
    token: { type: 'string', description: 'For the header `Authorization`.' },
  }),
};

function methodSchema(): Schema {
  return objectSchema({
    enabled: { type: 'boolean' },
    duration: { type: 'integer', description: 'Seconds.' },
  });
}
