import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import OpenIdProvider, { type Configuration } from 'oidc-provider';
import { atEnd } from './at-end.ts';

export const issuerClient = {
  clientId: 'shop',
  clientSecret: 'canary: the secret of the shop at its issuer',
};

/** Who signs in at an issuer. */
export interface IssuerUser {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly preferred_username?: string;
  readonly picture?: string;
}

/** An OpenID Connect issuer on a loopback port, whose user signs in and agrees at once. */
export interface OpenIdIssuer {
  readonly url: string;
  /** Whoever uses the browser. */
  user: IssuerUser;
  /** Opens a URL as a browser does, and returns where that ends: at the redirect URL, or at a page of the issuer. */
  browse(url: string): Promise<URL>;
}

const signingKey = {
  ...generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' }),
  kid: 'one',
  alg: 'RS256',
  use: 'sig',
};

/** Starts an issuer that knows one client, with these redirect URLs. */
export async function startIssuer(
  t: TestContext,
  redirectUris: readonly string[],
  options: Configuration = {},
): Promise<OpenIdIssuer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has such an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: { user: IssuerUser } = { user: { sub: 'ann' } };
  const provider = new OpenIdProvider(url, {
    clients: [
      {
        client_id: issuerClient.clientId,
        client_secret: issuerClient.clientSecret,
        redirect_uris: [...redirectUris],
        response_types: ['code'],
      },
    ],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username', 'picture'],
    },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ ...issuer.user, sub: accountId }) }),
    cookies: { keys: ['a key of cookies'] },
    jwks: { keys: [signingKey] },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
    },
    ...options,
  });
  const callback = provider.callback();
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) {
      void callback(request, response);
      return;
    }
    const agree = async (): Promise<void> => {
      const { params, grantId } = await provider.interactionDetails(request, response);
      const accountId = issuer.user.sub;
      const grant =
        (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
        new provider.Grant({ accountId, clientId: String(params['client_id']) });
      grant.addOIDCScope(String(params['scope']));
      const consent = { grantId: await grant.save() };
      await provider.interactionFinished(request, response, { login: { accountId }, consent });
    };
    agree().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  atEnd(t, async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(issuer, { url, browse: (start: string) => browse(start, url) });
}

/** Follows redirects as long as they stay at the issuer, with its cookies. */
async function browse(start: string, origin: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = new URL(start);
  for (let step = 0; step < 10; step += 1) {
    if (at.origin !== origin) return at;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } });
    await answer.text();
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', value = ''] = pair.split('=');
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) return at;
    at = new URL(location, at);
  }
  throw new Error(`the issuer redirects for ever: ${at.href}`);
}
