import type { AuthorizationServer } from 'oauth4webapi';
import { GenerationCache } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import type { Share } from '../base/fair-line.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import type { GuardedRequests } from '../network/guarded-requests.ts';
import {
  type CodeExchange,
  exchangeCode,
  fetchBy,
  loadProtocol,
  type ProviderParts,
  refusedBy,
  signatureAlgorithms,
  type Tokens,
} from './exchange-code.ts';
import type { ConfiguredProvider } from './provider.ts';
import {
  jsonOf,
  type ProviderAnswer,
  ProviderFailure,
  providerLimits,
  ProviderRequests,
  type SendToProvider,
} from './provider-requests.ts';
import { emailIn, type ProviderUser, readUser } from './read-user.ts';

/** The provider did not say who the user is. */
export class UserFailure extends ProviderFailure {}

/** A user of a provider, who has just signed in there. */
export interface ProviderSignIn {
  readonly user: ProviderUser;
  readonly tokens: Pick<Tokens, 'accessToken' | 'refreshToken' | 'expiresIn'>;
}

/** Servers whose endpoints and keys are cached, of all instances. */
const serversMax = 250;
/** Names that wait for the sign-in with their code. */
const namesMax = 1_000;
const nameLengthMax = 150;
const discoveredMs = 3_600_000;
const failedMs = 30_000;

interface CachedServer {
  readonly server: Promise<AuthorizationServer>;
  readonly untilMs: number;
}

export interface ProviderClientOptions {
  readonly requests: Pick<GuardedRequests, 'send'>;
  /** Of this service, which it tells providers. */
  readonly version: string;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Speaks with providers for the sign-ins of all instances of a process. */
export class ProviderClient {
  readonly #requests: ProviderRequests;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #names = new GenerationCache<string, string>(namesMax);
  readonly #servers = new GenerationCache<string, CachedServer>(serversMax);

  constructor({ requests, version, clock }: ProviderClientOptions) {
    this.#requests = new ProviderRequests(requests, { version });
    this.#clock = clock;
  }

  /** Exchanges the code of a client for tokens, and reads the user that they belong to. Throws ProviderFailure, unavailable. */
  signIn(share: Share, provider: ConfiguredProvider, exchange: CodeExchange): Promise<ProviderSignIn> {
    return this.#requests.run(share, async (send) => {
      const server = await this.#serverOf(share.instance, provider, send);
      const parts = { provider, server, send };
      const tokens = await exchangeCode(parts, exchange);
      const user = await fetchUser(parts, tokens).catch((error: unknown) => {
        if (!(error instanceof ProviderFailure)) throw error;
        throw new UserFailure(error.message, { cause: error });
      });
      const name = this.#names.find(nameKey(share.instance, exchange.code));
      return { user: name === undefined || user.name !== '' ? user : { ...user, name }, tokens };
    });
  }

  /** Keeps the name that Apple sends beside a code, once and unsigned, for the sign-in with that code. `user` is JSON. */
  rememberAppleName(instance: string, code: string, user: string): void {
    const name = appleName(user);
    if (name !== '') this.#names.add(nameKey(instance, code), name);
  }

  /** Returns where a provider lets people sign in. Throws ProviderFailure, unavailable. */
  async authorizationURL(share: Share, provider: ConfiguredProvider): Promise<string> {
    if (provider.authURL !== '' || provider.issuer === undefined) return provider.authURL;
    const cached = this.#find(share.instance, provider);
    const server = await (cached ??
      this.#requests.run(
        share,
        (send) => this.#serverOf(share.instance, provider, send),
        providerLimits.discoveryMs,
      ));
    const endpoint = server.authorization_endpoint ?? '';
    // A browser is sent there, which would run a script.
    if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
      throw new ProviderFailure('its discovery document has no URL as authorization_endpoint');
    return endpoint;
  }

  /** Downloads the picture of a user. Throws ProviderFailure, unavailable. */
  fetchPicture(share: Share, url: string, bytesMax: number): Promise<ProviderAnswer> {
    const max = Math.min(bytesMax, providerLimits.pictureBytesMax);
    return this.#requests.run(share, async (send) => {
      const answer = await send(url, { method: 'GET', headers: {} }, max);
      if (answer.status !== 200) throw new ProviderFailure(`the picture has status ${answer.status}`);
      return answer;
    });
  }

  #find(instance: string, provider: ConfiguredProvider): Promise<AuthorizationServer> | undefined {
    const cached = this.#servers.find(keyOf(instance, provider));
    return cached !== undefined && this.#clock.monotonic() < cached.untilMs ? cached.server : undefined;
  }

  /** The same object each time, as the library caches the keys of a server by it. */
  #serverOf(
    instance: string,
    provider: ConfiguredProvider,
    send: SendToProvider,
  ): Promise<AuthorizationServer> {
    const cached = this.#find(instance, provider);
    if (cached !== undefined) return cached;
    const server =
      provider.issuer === undefined
        ? Promise.resolve(configuredServer(provider))
        : discover(provider, provider.issuer, send);
    const key = keyOf(instance, provider);
    const now = this.#clock.monotonic();
    this.#servers.add(key, { server, untilMs: now + discoveredMs });
    server.catch(() => this.#servers.add(key, { server, untilMs: now + failedMs }));
    return server;
  }
}

function nameKey(instance: string, code: string): string {
  return JSON.stringify([instance, code]);
}

function appleName(text: string): string {
  try {
    const user: unknown = JSON.parse(text);
    const name = isJsonObject(user) ? ownMember(user, 'name') : undefined;
    if (!isJsonObject(name)) return '';
    const parts = [ownMember(name, 'firstName'), ownMember(name, 'lastName')];
    const joined = parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
    return joined.slice(0, nameLengthMax).toWellFormed();
  } catch {
    return '';
  }
}

function keyOf(instance: string, provider: ConfiguredProvider): string {
  const { name, issuer, tokenURL, userInfoURL, authURL, idTokens } = provider;
  return JSON.stringify([instance, name, issuer, authURL, tokenURL, userInfoURL, idTokens]);
}

function configuredServer({ name, tokenURL, idTokens }: ConfiguredProvider): AuthorizationServer {
  const [issuer] = idTokens?.issuers ?? [];
  return {
    issuer: issuer ?? `provider:${name}`,
    token_endpoint: tokenURL,
    ...(idTokens !== undefined && {
      jwks_uri: idTokens.jwksURL,
      id_token_signing_alg_values_supported: [...signatureAlgorithms],
    }),
  };
}

/** Reads the discovery document of an issuer. URLs that are configured come before its own. */
async function discover(
  { tokenURL, userInfoURL }: ConfiguredProvider,
  issuer: string,
  send: SendToProvider,
): Promise<AuthorizationServer> {
  const { discoveryRequest, processDiscoveryResponse, customFetch, allowInsecureRequests } =
    await loadProtocol();
  const url = new URL(issuer);
  try {
    const response = await discoveryRequest(url, {
      [customFetch]: fetchBy(send, providerLimits.metadataBytesMax),
      [allowInsecureRequests]: true,
    });
    const server = await processDiscoveryResponse(url, response);
    if (server.jwks_uri === undefined) throw new ProviderFailure('its discovery document has no jwks_uri');
    const { id_token_signing_alg_values_supported: offered } = server;
    const algorithms = signatureAlgorithms.filter((one) => offered === undefined || offered.includes(one));
    return {
      ...server,
      ...(tokenURL !== '' && { token_endpoint: tokenURL }),
      ...(userInfoURL !== '' && { userinfo_endpoint: userInfoURL }),
      id_token_signing_alg_values_supported: algorithms,
    };
  } catch (error) {
    throw refusedBy(error);
  }
}

/** Returns the user of an ID token, or of the endpoint for users, or of both: then it must be the same one. */
async function fetchUser({ provider, server, send }: ProviderParts, tokens: Tokens): Promise<ProviderUser> {
  const url = provider.userInfoURL === '' ? (server.userinfo_endpoint ?? '') : provider.userInfoURL;
  const { claims } = tokens;
  if (url === '') {
    if (claims === undefined)
      throw new ProviderFailure('it has neither a userInfoURL nor an ID token that can be checked');
    return readUser(claims, provider.user, tokens.raw);
  }
  const headers = {
    authorization: `Bearer ${tokens.accessToken}`,
    accept: 'application/json',
    ...provider.headers?.(provider.clientId),
  };
  const { query } = provider;
  const answer = await send(
    url,
    query === undefined
      ? { method: 'GET', headers }
      : {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ query }),
        },
  );
  const user = readUser(objectOf(answer), provider.user, tokens.raw);
  if (claims !== undefined && claims['sub'] !== user.id)
    throw new ProviderFailure('its answers are about two users');
  if (provider.emails === undefined) return user;
  const email = emailIn(
    jsonOf(await send(provider.emails.url(url), { method: 'GET', headers })),
    provider.emails,
  );
  return email === undefined ? user : { ...user, email, isEmailVerified: true };
}

function objectOf(answer: ProviderAnswer): JsonObject {
  if (answer.status !== 200)
    throw new ProviderFailure(`the request for the user has status ${answer.status}`);
  const json = jsonOf(answer);
  if (!isJsonObject(json)) throw new ProviderFailure('its answer for the user is not an object');
  return json;
}
