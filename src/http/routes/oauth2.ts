import { makeAppleSecret } from '../../auth/make-apple-secret.ts';
import { signInWithProvider } from '../../auth/provider-sign-in.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { ownMember } from '../../base/json.ts';
import { AppError } from '../../base/errors.ts';
import { type Answer, notStored, textAnswer } from '../answer.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { answerSignIn, signInRoute } from './auth.ts';

const text: Schema = { type: 'string' };

const page = {
  description: 'A line of text for the window in which the provider was.',
  content: { 'text/plain': { schema: text } },
} as const;

const redirectRoute = {
  path: '/api/oauth2-redirect',
  tag: 'auth',
  scope: 'any',
  parameters: ['OAuth2State', 'OAuth2Code', 'OAuth2Error'],
  answers: { 200: page, 400: page },
  handle: answerRedirect,
} as const;

/** Signing in with the account of another service. */
export const oauth2Routes = [
  route({
    ...signInRoute,
    path: '/api/collections/:collection/auth-with-oauth2',
    id: 'signInWithOAuth2',
    actions: ['authWithOAuth2', 'auth'],
    summary: 'Sign in with the code of an OAuth2 or OpenID Connect provider',
    body: schemaReference('ProviderCode'),
    handle: async (context) => {
      const { services, request, instance, body, input } = context;
      const { collection } = context.params;
      const { admission, providers } = services;
      admission.requirePlaceOf(instance, collection, request);
      admission.requireDiskRoom(request, 'data');
      await admission.requireDataRoom(instance, request);
      const requireRoom = (): void => admission.requireDiskRoom(request, 'files');
      const signingIn = { collection, providers, requireRoom };
      const { result, meta } = await signInWithProvider(instance, { ...input, body }, signingIn);
      return answerSignIn(context, result, meta);
    },
  }),
  route({
    ...redirectRoute,
    method: 'GET',
    id: 'receiveOAuth2Code',
    summary: 'Pass the code of a provider on to the realtime client that has opened its page',
  }),
  route({
    ...redirectRoute,
    method: 'POST',
    id: 'receiveOAuth2CodeForm',
    summary:
      'Pass the code of a provider that sends it by a form on to the realtime client that has opened its page',
    formValues: 'texts',
    body: objectSchema({ state: text, code: text, error: text, user: text }, [
      'state',
      'code',
      'error',
      'user',
    ]),
    isBodyOptional: true,
  }),
  route({
    method: 'POST',
    path: '/api/settings/apple/generate-client-secret',
    id: 'makeAppleClientSecret',
    tag: 'settings',
    isForSuperusers: true,
    summary: 'Make the client secret that Apple wants, signed with a key from its developer account',
    body: objectSchema({
      clientId: text,
      teamId: { type: 'string', description: 'Ten characters.' },
      keyId: { type: 'string', description: 'Ten characters.' },
      privateKey: { type: 'string', description: 'PEM, PKCS #8; it is not stored.' },
      duration: { type: 'integer', minimum: 1, maximum: 15_777_000, description: 'Seconds.' },
    }),
    answers: { 200: jsonAnswer('The secret.', objectSchema({ secret: text })) },
    handle: ({ instance, body }) => ({
      status: 200,
      json: JSON.stringify({ secret: makeAppleSecret(body, instance.clock.now()) }),
      headers: notStored,
    }),
  }),
];

const messageName = '@oauth2';
const lengthMax = 8_192;

/**
 * Answers the browser that a provider has sent back. It redirects nowhere, so that no link to it can lead elsewhere, and whoever has the page opened
 * by a script may close it.
 */
async function answerRedirect(context: RequestContext): Promise<Answer> {
  const { instance, services, query, body } = context;
  const member = (name: string): string => {
    const value = query.get(name) ?? ownMember(body, name) ?? '';
    return typeof value === 'string' ? value.slice(0, lengthMax) : '';
  };
  const [state, code, error] = [member('state'), member('code'), member('error')];
  const message = {
    clientId: state,
    address: ipAddressText(context.address),
    name: messageName,
    data: JSON.stringify({ state, code, error }),
  };
  try {
    if (code !== '') services.providers.rememberAppleName(instance.id, code, member('user'));
    await services.realtime.sendMessage(instance, message);
  } catch (failure) {
    if (!(failure instanceof AppError) || !['bad_request', 'not_found'].includes(failure.code)) throw failure;
    return lineAnswer(
      400,
      'The sign-in has failed: the page that began it is no longer waiting. Close this window, and try again there.',
    );
  }
  if (code === '' || error !== '')
    return lineAnswer(400, 'The sign-in has failed. Close this window, and try again.');
  return lineAnswer(200, 'Done. You can close this window.');
}

function lineAnswer(status: number, line: string): Answer {
  return textAnswer(status, `${line}\n`, { ...notStored, 'cross-origin-opener-policy': '' });
}

const provider: Schema = objectSchema({
  name: text,
  displayName: text,
  logo: text,
  state: text,
  authURL: { type: 'string', description: 'Append the URL of your page, which the provider must know.' },
  authUrl: text,
  codeVerifier: { type: 'string', description: 'Keep it, and send it with the code.' },
  codeChallenge: text,
  codeChallengeMethod: { type: 'string', enum: ['S256', ''] },
});

export const oauth2Schemas: Readonly<Record<string, Schema>> = {
  AuthProvider: provider,
  ProviderUser: objectSchema({
    id: text,
    name: text,
    username: text,
    email: { type: 'string', description: 'Empty where the provider says that it is not verified.' },
    avatarURL: text,
    avatarUrl: text,
    accessToken: { type: 'string', description: 'Of the provider.' },
    refreshToken: text,
    expiry: text,
    rawUser: { type: 'object', additionalProperties: true, description: 'As the provider shows it.' },
    isNew: { type: 'boolean', description: 'Whether the account was made for this user.' },
  }),
  ProviderCode: objectSchema(
    {
      provider: text,
      code: text,
      codeVerifier: text,
      redirectURL: { type: 'string', description: 'The same as in the authorization URL.' },
      redirectUrl: text,
      createData: { type: 'object', description: 'Values for the record of a new account.' },
      mfaId: text,
    },
    ['codeVerifier', 'redirectURL', 'redirectUrl', 'createData', 'mfaId'],
  ),
};
