import { authMethodsJson, withAuthCollection } from '../../auth/auth-collection.ts';
import type { SignedIn, SignInResult } from '../../auth/finish-sign-in.ts';
import { signInWithOneTimePassword } from '../../auth/one-time-password.ts';
import { impersonate, refreshSignIn } from '../../auth/refresh-sign-in.ts';
import { recordSignInOrigin } from '../../auth/sign-in-alert.ts';
import { issueSignInLink, signInWithLink } from '../../auth/sign-in-link.ts';
import { providerMethods } from '../../auth/provider-methods.ts';
import { setUp } from '../../auth/set-up.ts';
import { type PasswordSignIn, signIn } from '../../auth/sign-in.ts';
import { type JsonObject, ownMember } from '../../base/json.ts';
import { superusersName } from '../../collections/collection.ts';
import { withCurrentDefinitions } from '../../instances/current-collection.ts';
import { callerOf } from '../../instances/token-secrets.ts';
import { presentRecords } from '../../records/present-records.ts';
import { valueOf } from '../../records/record.ts';
import { type Answer, nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

const answers = { 200: jsonAnswer('Signed in.', schemaReference('SignedIn')) };

const signInAnswers = {
  ...answers,
  401: jsonAnswer('A second factor is required, with this id; or an API key is not valid.', {
    anyOf: [schemaReference('SecondFactor'), schemaReference('ErrorBody')],
  }),
};

export const signInRoute = {
  method: 'POST',
  tag: 'auth',
  parameters: ['Collection', 'Expand', 'Fields', 'MfaId'],
  formValues: 'texts',
  answers: signInAnswers,
  refusals: [403, 409, 507],
} as const;

const text: Schema = { type: 'string' };
const filled: Schema = { type: 'string', minLength: 1 };

/** Signing in, in every collection of accounts. */
export const authRoutes = [
  route({
    method: 'GET',
    path: '/api/collections/:collection/auth-methods',
    id: 'listAuthMethods',
    tag: 'auth',
    scope: 'any',
    actions: ['listAuthMethods'],
    summary: 'List the sign-in methods of a collection',
    parameters: ['Collection', 'Fields'],
    answers: { 200: jsonAnswer('The methods.', schemaReference('AuthMethods')) },
    handle: async (context) =>
      context.answer(
        await withAuthCollection(context.instance, context.params.collection, async (collection) => {
          const { instance, input } = context;
          const { providers } = context.services;
          return authMethodsJson(
            collection,
            await providerMethods(instance, { input, collection, providers }),
          );
        }),
      ),
  }),
  route({
    ...signInRoute,
    path: '/api/collections/:collection/auth-with-password',
    id: 'signInWithPassword',
    actions: ['authWithPassword', 'auth'],
    summary: 'Sign in with a password',
    body: schemaReference('Credentials'),
    handle: async (context) => {
      const { services, request, instance, body, input } = context;
      const { collection } = context.params;
      const guard: PasswordSignIn['guard'] = (named, run) =>
        services.admission.signIn({ instance, request }, { collection, ...named }, run);
      const result = await signIn(instance, { ...input, body }, { collection, guard });
      return answerSignIn(context, result);
    },
  }),
  route({
    ...signInRoute,
    path: '/api/collections/:collection/auth-with-otp',
    id: 'signInWithOtp',
    actions: ['authWithOTP', 'auth'],
    summary: 'Sign in with a one-time password',
    body: schemaReference('OneTimePassword'),
    handle: async (context) => {
      const { request, instance, address, body, input } = context;
      const { collection } = context.params;
      const { admission } = context.services;
      const named = { collection, identity: ownMember(body, 'otpId') };
      const from = { collection, address };
      const result = await admission.signIn({ instance, request }, named, () =>
        signInWithOneTimePassword(instance, { ...input, body }, from),
      );
      return answerSignIn(context, result);
    },
  }),
  route({
    method: 'POST',
    path: '/api/collections/:collection/auth-refresh',
    id: 'refreshSignIn',
    tag: 'auth',
    actions: ['authRefresh'],
    summary: 'Refresh the token of this request',
    parameters: ['Collection', 'Expand', 'Fields'],
    answers,
    refusals: [401, 403, 413, 415],
    handle: async (context) => {
      const { collection } = context.params;
      const header = context.request.headers.authorization;
      return answerSignedIn(
        context,
        await refreshSignIn(context.instance, context.input, { collection, header }),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/api/collections/:collection/impersonate/:id',
    id: 'impersonate',
    tag: 'auth',
    isForSuperusers: true,
    summary: 'Impersonate an account with a token that cannot be refreshed',
    parameters: ['Collection', 'RecordId', 'Expand', 'Fields'],
    body: schemaReference('Impersonation'),
    isBodyOptional: true,
    answers,
    handle: async (context) => {
      const { instance, params, body, input } = context;
      return answerSignedIn(context, await impersonate(instance, { ...params, body, actor: input }));
    },
  }),
  // The first superuser of an instance, with the setup token that a start prints as long as there is none.
  route({
    method: 'POST',
    path: '/api/setup',
    id: 'setUp',
    tag: 'auth',
    summary: 'Create the first superuser with the setup token that the server prints at start',
    description:
      'The token can be used once, for half an hour, and only while there is no superuser. Otherwise the answer is 403.',
    body: objectSchema({ token: filled, email: filled, password: filled, passwordConfirm: filled }),
    formValues: 'texts',
    answers: { 204: emptyAnswer('The superuser was created and can sign in.') },
    refusals: [409, 507],
    handle: async ({ instance, input, body }) => {
      await setUp(instance, input, body);
      return nothing;
    },
  }),
  route({
    method: 'POST',
    path: '/api/sign-in-links',
    id: 'issueSignInLink',
    tag: 'auth',
    isForSuperusers: true,
    summary: 'Issue a token that signs a superuser in once, within five minutes',
    description: 'Of the superuser with this email, or of the first one.',
    body: objectSchema({ email: text }, ['email']),
    isBodyOptional: true,
    answers: { 201: jsonAnswer('The token.', schemaReference('SignInLink')) },
    refusals: [409, 507],
    handle: async ({ instance, body, input }) => {
      const link = await issueSignInLink(instance, body, input);
      return { status: 201, json: JSON.stringify(link), headers: notStored };
    },
  }),
  route({
    method: 'POST',
    path: '/api/sign-in-links/use',
    id: 'signInWithLink',
    tag: 'auth',
    actions: ['auth'],
    summary: 'Sign in as a superuser with the token of a sign-in link',
    description: 'The token can be used once. Otherwise the answer is 403.',
    body: objectSchema({ token: filled }),
    formValues: 'texts',
    answers,
    refusals: [409, 507],
    handle: async (context) => {
      const { services, request, instance, input, body } = context;
      services.admission.requirePlaceOf(instance, superusersName, request);
      return answerSignedIn(context, await signInWithLink(instance, input, body));
    },
  }),
];

/** Answers with account and token, or 401 with an `mfaId` for the second factor. After the answer, the owner is told of a new place. */
export async function answerSignIn(
  context: RequestContext,
  result: SignInResult,
  meta?: JsonObject,
): Promise<Answer> {
  if (result.kind === 'second factor')
    return context.answer(JSON.stringify({ mfaId: result.mfaId }), { status: 401, headers: notStored });
  const { request, address } = context;
  const { signedIn } = result;
  const work = recordSignInOrigin(signedIn, { address, userAgent: request.headers['user-agent'] ?? '' });
  if (work !== undefined) await context.runAfterAnswer(work);
  return answerSignedIn(context, signedIn, meta);
}

/** Answers with the account as the account itself may see it, and its token. */
async function answerSignedIn(
  context: RequestContext,
  signedIn: SignedIn,
  meta?: JsonObject,
): Promise<Answer> {
  const { instance } = context;
  const { collection, record, token } = signedIn;
  const input = { ...context.input, caller: callerOf(collection, String(valueOf(record, 'id'))) };
  const [json = ''] = await withCurrentDefinitions(() => presentRecords({ instance, input }, [record]));
  const head = meta === undefined ? '' : `"meta":${JSON.stringify(meta)},`;
  return context.answer(`{${head}"record":${json},"token":${JSON.stringify(token)}}`, { headers: notStored });
}

const mfaId: Schema = {
  type: 'string',
  description: 'The `mfaId` from the answer to the first factor; here or in the query.',
};

export const authSchemas: Readonly<Record<string, Schema>> = {
  Credentials: objectSchema(
    {
      identity: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 512 },
      identityField: {
        type: 'string',
        description: 'The field to find the identity in; any identity field by default.',
      },
      mfaId,
    },
    ['identityField', 'mfaId'],
  ),
  OneTimePassword: objectSchema(
    {
      otpId: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 71, description: 'The code from the email.' },
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
    oauth2: objectSchema({
      providers: { type: 'array', items: schemaReference('AuthProvider') },
      enabled: { type: 'boolean' },
    }),
    mfa: methodSchema(),
    otp: methodSchema(),
    authProviders: { type: 'array', items: schemaReference('AuthProvider') },
    usernamePassword: { type: 'boolean' },
    emailPassword: { type: 'boolean' },
  }),
  Impersonation: objectSchema(
    {
      duration: {
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 94_670_856,
        description: 'Seconds; 0 for the duration of the collection.',
      },
    },
    ['duration'],
  ),
  SignInLink: objectSchema({
    token: { type: 'string', description: 'For the dashboard: `/_/link#TOKEN`.' },
    expires: text,
    email: { type: 'string', description: 'The superuser.' },
  }),
  SignedIn: objectSchema(
    {
      meta: schemaReference('ProviderUser'),
      record: schemaReference('AnyRecord'),
      token: { type: 'string', description: 'For the header `Authorization`.' },
    },
    ['meta'],
  ),
};

function methodSchema(): Schema {
  return objectSchema({
    enabled: { type: 'boolean' },
    duration: { type: 'integer', description: 'Seconds.' },
  });
}
