import { shareOf, type RuleInput } from '../access/rule-input.ts';
import { randomText } from '../base/ids.ts';
import type { Instance } from '../instances/instance.ts';
import { configureProvider, logoOf } from '../providers/configure-provider.ts';
import type { ProviderClient } from '../providers/provider-client.ts';
import { ProviderFailure } from '../providers/provider-requests.ts';
import type { ConfiguredProvider, ProviderOptions } from '../providers/provider.ts';
import { digest } from '../secrets/digest.ts';
import type { AuthCollection, ProviderMethod } from './auth-collection.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const stateLength = 30;
const verifierLength = 43;

export interface ProviderMethodsRequest {
  readonly input: RuleInput;
  readonly collection: AuthCollection;
  readonly providers: ProviderClient;
}

/** Returns how to begin at each provider of a collection; none while they are switched off. A provider that cannot be reached is left out. */
export async function providerMethods(
  instance: Instance,
  { input, collection, providers }: ProviderMethodsRequest,
): Promise<readonly ProviderMethod[]> {
  const { oauth2 } = collection.auth;
  if (!oauth2.enabled) return [];
  const share = shareOf(instance.id, input);
  const methodOf = async (options: ProviderOptions): Promise<readonly ProviderMethod[]> => {
    const provider = configureProvider(options);
    if (provider === undefined) return [];
    try {
      const authURL = await providers.authorizationURL(share, provider);
      return [methodAt(authURL, provider, newCodeVerifier(instance, collection, provider))];
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      instance.logger.warn('The discovery document of a sign-in provider could not be read.', {
        instance: instance.id,
        provider: provider.name,
        error,
      });
      return [];
    }
  };
  const methods = await Promise.all(oauth2.providers.map(methodOf));
  return methods.flat();
}

function methodAt(endpoint: string, provider: ConfiguredProvider, codeVerifier: string): ProviderMethod {
  const state = randomText(stateLength, alphabet);
  const codeChallenge = provider.usesPkce ? digest(codeVerifier) : '';
  const url = new URL(endpoint);
  const parameters = {
    ...provider.parameters,
    client_id: provider.clientId,
    response_type: 'code',
    ...(provider.scopes !== undefined && { scope: provider.scopes }),
    state,
    ...(provider.usesPkce && { code_challenge: codeChallenge, code_challenge_method: 'S256' }),
    ...(sendsNonce(provider) && { nonce: nonceOf(codeVerifier) }),
  };
  url.searchParams.delete('redirect_uri');
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const authURL = `${url.href}&redirect_uri=`;
  return {
    name: provider.name,
    displayName: provider.displayName,
    logo: logoOf(provider.displayName),
    state,
    authURL,
    authUrl: authURL,
    codeVerifier,
    codeChallenge,
    codeChallengeMethod: provider.usesPkce ? 'S256' : '',
  };
}

/** Whether the URL of a provider has a nonce, which its ID token must have. */
export function sendsNonce({ idTokens, issuer }: ConfiguredProvider): boolean {
  return idTokens !== undefined || issuer !== undefined;
}

/** The nonce of an authorization URL follows from its code verifier: an ID token is good only for whoever began the sign-in. */
export function nonceOf(codeVerifier: string): string {
  return digest(`nonce ${codeVerifier}`);
}

/** Makes a code verifier (RFC 7636), which shows later that this service made it for this provider. */
function newCodeVerifier(
  instance: Pick<Instance, 'sealer'>,
  collection: AuthCollection,
  provider: ConfiguredProvider,
): string {
  if (!provider.usesPkce && !sendsNonce(provider)) return '';
  const random = randomText(verifierLength, alphabet);
  return `${random}.${verifierMark(instance, random, { collection, provider })}`;
}

/** Whether a code verifier was made by {@link newCodeVerifier}, and not by a client that makes its own URLs. */
export function isOwnCodeVerifier(
  instance: Pick<Instance, 'sealer'>,
  codeVerifier: string,
  use: VerifierUse,
): boolean {
  const [random = '', mark] = codeVerifier.split('.');
  return mark === verifierMark(instance, random, use);
}

interface VerifierUse {
  readonly collection: AuthCollection;
  readonly provider: ConfiguredProvider;
}

function verifierMark(
  { sealer }: Pick<Instance, 'sealer'>,
  random: string,
  { collection, provider }: VerifierUse,
): string {
  return sealer.fingerprint(`code verifier|${collection.id}|${provider.name}|${random}`);
}
