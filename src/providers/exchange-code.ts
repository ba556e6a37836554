import type * as oauth4webapi from 'oauth4webapi';
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import type { ConfiguredProvider } from './provider.ts';
import {
  jsonOf,
  type ProviderAnswer,
  ProviderFailure,
  providerLimits,
  type SendToProvider,
  strictJson,
} from './provider-requests.ts';

/** Returns the library of the protocol, imported on demand: most processes sign nobody in by a provider. */
export function loadProtocol(): Promise<typeof oauth4webapi> {
  return import('oauth4webapi');
}

export interface CodeExchange {
  readonly code: string;
  readonly codeVerifier: string;
  /** As it was in the authorization URL; empty to leave it out. */
  readonly redirectURL: string;
  readonly clientSecret: string;
  /** The nonce that an ID token must have; it may have none unless `isNonceRequired`. */
  readonly nonce: string;
  readonly isNonceRequired: boolean;
}

/** What the token endpoint has answered. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Seconds; undefined where the provider does not say. */
  readonly expiresIn: number | undefined;
  /** The claims of the ID token, which were checked; undefined for a provider without. */
  readonly claims: JsonObject | undefined;
  readonly raw: JsonObject;
}

/** Algorithms of signatures with a public key. Those with a shared key would make the public key a secret, and `none` is no signature. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3), and checks the ID token: its signature by a key of the issuer, `iss`,
 * `aud`, `azp`, `exp`, `iat` and `nonce` (OpenID Connect Core 1.0 section 3.1.3.7). Throws ProviderFailure.
 */
export async function exchangeCode(
  { provider, server, send }: ProviderParts,
  exchange: CodeExchange,
): Promise<Tokens> {
  const protocol = await loadProtocol();
  const raw = tokenJson(await requestTokens({ provider, server, send }, exchange));
  const checksIdToken = server.jwks_uri !== undefined;
  const { id_token: idToken, ...rest } = raw;
  const body = JSON.stringify(checksIdToken ? { ...rest, id_token: idToken } : rest);
  // The library remembers by the answer which ID token was in it.
  const answer = new Response(body, { headers: { 'content-type': 'application/json' } });
  const claimed = checksIdToken ? unverifiedClaims(idToken) : {};
  const issuer = issuerOf(provider, server, claimed['iss']);
  const isNonceExpected = exchange.isNonceRequired || claimed['nonce'] !== undefined;
  const client: Client = { client_id: provider.clientId, [protocol.clockTolerance]: clockToleranceSeconds };
  try {
    const tokens = await protocol.processAuthorizationCodeResponse(issuer, client, answer, {
      requireIdToken: checksIdToken,
      ...(checksIdToken && isNonceExpected && { expectedNonce: exchange.nonce }),
    });
    if (checksIdToken)
      await protocol.validateApplicationLevelSignature(issuer, answer, {
        [protocol.customFetch]: fetchBy(send, providerLimits.metadataBytesMax),
        [protocol.allowInsecureRequests]: true,
      });
    return {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? '',
      expiresIn: tokens.expires_in,
      claims: protocol.getValidatedIdTokenClaims(tokens),
      raw,
    };
  } catch (error) {
    throw refusedBy(error);
  }
}

/** How far the clock of a provider may be off. */
const clockToleranceSeconds = 60;

/** A provider, where it is, and the way there. */
export interface ProviderParts {
  readonly provider: ConfiguredProvider;
  readonly server: AuthorizationServer;
  readonly send: SendToProvider;
}

async function requestTokens(
  { provider, server, send }: ProviderParts,
  { code, codeVerifier, redirectURL, clientSecret }: CodeExchange,
): Promise<ProviderAnswer> {
  const protocol = await loadProtocol();
  const parameters = {
    code,
    ...(redirectURL !== '' && { redirect_uri: redirectURL }),
    ...(provider.usesPkce && codeVerifier !== '' && { code_verifier: codeVerifier }),
  };
  let last: ProviderAnswer | undefined;
  const request = async (authenticate: ClientAuth): Promise<ProviderAnswer> => {
    let answer: ProviderAnswer | undefined;
    const fetch = fetchBy(async (...sent) => (answer = await send(...sent)));
    const options = { [protocol.customFetch]: fetch, [protocol.allowInsecureRequests]: true };
    const client = { client_id: provider.clientId };
    await protocol.genericTokenEndpointRequest(
      server,
      client,
      authenticate,
      'authorization_code',
      parameters,
      options,
    );
    if (answer === undefined) throw new ProviderFailure('there was no answer');
    return answer;
  };
  for (const method of authMethods(provider, server)) {
    const authenticate = method === 'basic' ? protocol.ClientSecretBasic : protocol.ClientSecretPost;
    last = await request(authenticate(clientSecret));
    // The code was not used, as the client was not let in.
    if (errorIn(last) !== 'invalid_client') break;
  }
  if (last === undefined) throw new ProviderFailure('there was no answer');
  return last;
}

/** An issuer that does not say how clients authenticate is asked both ways. */
function authMethods(
  { isOpenId, clientAuth }: ConfiguredProvider,
  { token_endpoint_auth_methods_supported: supported }: AuthorizationServer,
): readonly ('basic' | 'post')[] {
  if (isOpenId !== true) return [clientAuth ?? 'post'];
  if (supported === undefined) return ['basic', 'post'];
  return supported.includes('client_secret_basic') ? ['basic'] : ['post'];
}

/** Reads the answer of a token endpoint. Some providers leave out the type of the token, or send scopes as a list. Throws ProviderFailure. */
function tokenJson(answer: ProviderAnswer): JsonObject {
  const error = errorIn(answer);
  if (error !== undefined)
    throw new ProviderFailure(`the token endpoint has answered with the error ${error}`);
  if (answer.status !== 200)
    throw new ProviderFailure(`the token endpoint has answered with status ${answer.status}`);
  const json = jsonOf(answer);
  if (!isJsonObject(json)) throw new ProviderFailure('the answer of the token endpoint is not an object');
  const { scope: _, token_type: type, ...rest } = json;
  return { ...rest, token_type: type ?? 'bearer' };
}

/** Returns the code of an error (RFC 6749 section 5.2); some providers send it with status 200. */
function errorIn(answer: ProviderAnswer): string | undefined {
  try {
    const json: unknown = JSON.parse(answer.body.toString('utf8'));
    const error = isJsonObject(json) ? ownMember(json, 'error') : undefined;
    return typeof error === 'string' ? error.replaceAll(/[^\w.-]/g, '').slice(0, 60) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the claims of an ID token, **unverified**: good only for choosing what it is verified against. Throws ProviderFailure for one that
 * cannot be read.
 */
function unverifiedClaims(idToken: unknown): JsonObject {
  const [, payload = ''] = typeof idToken === 'string' ? idToken.split('.') : [];
  const claims = strictJson(Buffer.from(payload, 'base64url'));
  if (!isJsonObject(claims)) throw new ProviderFailure('its ID token is none');
  return claims;
}

/** Returns the server as the issuer of an ID token, where several are configured. */
function issuerOf(
  { idTokens }: ConfiguredProvider,
  server: AuthorizationServer,
  claimed: unknown,
): AuthorizationServer {
  const other = idTokens?.issuers.find((issuer) => issuer === claimed && issuer !== server.issuer);
  return other === undefined ? server : { ...server, issuer: other };
}

/** The way to providers as the library wants it. */
export function fetchBy(
  send: SendToProvider,
  bytesMax?: number,
): (url: string, options: FetchOptions) => Promise<Response> {
  return async (url, { method, headers, body }) => {
    const text = body instanceof URLSearchParams ? { body: body.toString() } : {};
    const request = { method: method === 'POST' ? 'POST' : 'GET', headers, ...text } as const;
    const answer = await send(url, request, bytesMax);
    const { status } = answer;
    if (status < 200 || status > 599) throw new ProviderFailure(`it has answered with status ${status}`);
    const hasBody = ![204, 205, 304].includes(status);
    const content = hasBody ? new Uint8Array(answer.body) : null;
    return new Response(content, { status, headers: { 'content-type': answer.mediaType } });
  };
}

interface FetchOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}

/** Returns the failure for an error of the library, whose message says which check has failed. */
export function refusedBy(error: unknown): unknown {
  if (error instanceof ProviderFailure || !(error instanceof Error)) return error;
  return new ProviderFailure(error.message, { cause: error });
}
