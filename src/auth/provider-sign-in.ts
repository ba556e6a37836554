import { type RuleInput, shareOf } from '../access/rule-input.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { providerSecret } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { tokenSecretPlace } from '../instances/token-secrets.ts';
import { configureProvider } from '../providers/configure-provider.ts';
import type { CodeExchange } from '../providers/exchange-code.ts';
import { type ProviderClient, type ProviderSignIn, UserFailure } from '../providers/provider-client.ts';
import { ProviderFailure } from '../providers/provider-requests.ts';
import type { ConfiguredProvider } from '../providers/provider.ts';
import { readSecret } from '../secrets/secrets.ts';
import { decodeForm, lengthProblem, refuseForm } from './account-request.ts';
import { type AuthCollection, withAuthCollection } from './auth-collection.ts';
import { finishSignIn, requireMethod, type SignInResult } from './finish-sign-in.ts';
import { admitProviderUser } from './provider-accounts.ts';
import { isOwnCodeVerifier, nonceOf, sendsNonce } from './provider-methods.ts';
import { recordSignIn } from './sign-in.ts';

const lengthMax = { code: 8_192, codeVerifier: 128, url: 2_048 };

export interface ProviderSignInRequest {
  readonly collection: string;
  readonly providers: ProviderClient;
  /** Throws where the disk has no room for a file. */
  readonly requireRoom: () => void;
}

export interface ProviderSignInResult {
  readonly result: SignInResult;
  /** The user of the provider, for the answer. */
  readonly meta: JsonObject;
}

/**
 * Signs in by the code that a provider has sent the client back with. The user of the provider is the account that is linked to it, or the
 * caller, or the account with an address that the provider has verified, or else becomes a new account. Throws not_found (collection),
 * forbidden (switched off, or a rule), bad_request, unavailable.
 */
export async function signInWithProvider(
  instance: Instance,
  input: RuleInput,
  { collection: name, providers, requireRoom }: ProviderSignInRequest,
): Promise<ProviderSignInResult> {
  const attempt = await withAuthCollection(instance, name, (collection) =>
    decodeAttempt(instance, input, collection),
  );
  const { collection, provider } = attempt;
  let meta: JsonObject = {};
  const result = await recordSignIn(instance, { input, collection, id: '' }, async () => {
    const signedIn = await askProvider(providers, shareOf(instance.id, input), attempt);
    const work = { provider: provider.name, user: signedIn.user, createData: attempt.createData };
    const picture = { providers, requireRoom };
    const methodInput = { ...input, context: 'oauth2' } as const;
    // Not repeated with the code, which is used up: only this part is, where the definition has changed meanwhile.
    const account = await withAuthCollection(instance, collection.id, (current) =>
      admitProviderUser({ instance, input: methodInput }, { ...work, ...picture, collection: current }),
    );
    meta = metaOf(instance, signedIn, account.isNew);
    return finishSignIn(instance, input, { ...account, method: 'oauth2' });
  });
  return { result, meta };
}

interface Attempt {
  readonly collection: AuthCollection;
  readonly provider: ConfiguredProvider;
  readonly exchange: CodeExchange;
  readonly createData: JsonObject;
}

async function decodeAttempt(
  instance: Instance,
  { body }: RuleInput,
  collection: AuthCollection,
): Promise<Attempt> {
  requireMethod(collection, 'oauth2');
  const form = decodeForm(body, ['provider', 'code', 'codeVerifier', 'redirectURL', 'redirectUrl']);
  const redirectURL = form.redirectURL === '' ? form.redirectUrl : form.redirectURL;
  const options = collection.auth.oauth2.providers.find((one) => one.name === form.provider);
  const provider = options && configureProvider(options);
  const isVerifierMissing = provider?.usesPkce === true && form.codeVerifier === '';
  refuseForm(
    {
      provider: providerProblem(form.provider, provider),
      code: lengthProblem(form.code.length, lengthMax.code),
      codeVerifier: isVerifierMissing
        ? fieldError('validation_required')
        : tooLong(form.codeVerifier, lengthMax.codeVerifier),
      redirectURL: tooLong(redirectURL, lengthMax.url),
    },
    'An error occurred while loading the submitted data.',
  );
  const createData = ownMember(body, 'createData') ?? {};
  if (provider === undefined || !isJsonObject(createData))
    throw new AppError('bad_request', 'An error occurred while loading the submitted data.');
  const { code, codeVerifier } = form;
  const isNonceRequired =
    sendsNonce(provider) && isOwnCodeVerifier(instance, codeVerifier, { collection, provider });
  const clientSecret = await clientSecretOf(instance, collection, provider);
  const nonce = nonceOf(codeVerifier);
  const exchange = { code, codeVerifier, redirectURL, clientSecret, nonce, isNonceRequired };
  return { collection, provider, exchange, createData };
}

function providerProblem(name: string, provider: ConfiguredProvider | undefined): FieldError | undefined {
  if (name === '') return fieldError('validation_required');
  return provider === undefined ? fieldError('validation_invalid_provider', { name }) : undefined;
}

function tooLong(text: string, max: number): FieldError | undefined {
  return text.length > max ? fieldError('validation_length_too_long', { min: 0, max }) : undefined;
}

async function clientSecretOf(
  { database, sealer }: Instance,
  collection: AuthCollection,
  provider: ConfiguredProvider,
): Promise<string> {
  const name = providerSecret(provider.name);
  const sealed = await readSecret(database, { collection: collection.id, record: '', name });
  return sealed === undefined ? '' : sealer.open(sealed, tokenSecretPlace(collection.id, name));
}

async function askProvider(
  providers: ProviderClient,
  share: ReturnType<typeof shareOf>,
  { provider, exchange }: Attempt,
): Promise<ProviderSignIn> {
  try {
    return await providers.signIn(share, provider, exchange);
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    const what = error instanceof UserFailure ? 'user' : 'token';
    const explanation = `The provider ${provider.name} failed: ${error.message}.`;
    throw new AppError('bad_request', `Failed to fetch OAuth2 ${what}.`, { cause: error, explanation });
  }
}

/** No provider has tokens that are good for longer. */
const lifetimeSecondsMax = 315_360_000;

function metaOf({ clock }: Instance, { user, tokens }: ProviderSignIn, isNew: boolean): JsonObject {
  const { id, name, username, email, avatarURL, raw } = user;
  const { accessToken, refreshToken, expiresIn } = tokens;
  const expiry =
    expiresIn === undefined ? '' : toTimestamp(clock.now() + Math.min(expiresIn, lifetimeSecondsMax) * 1_000);
  return {
    id,
    name,
    username,
    email,
    avatarURL,
    // For clients of earlier versions of the reference.
    avatarUrl: avatarURL,
    accessToken,
    refreshToken,
    expiry,
    rawUser: raw,
    isNew,
  };
}
