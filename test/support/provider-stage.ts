import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type IssuerUser, issuerClient, type OpenIdIssuer, startIssuer } from './openid-issuer.ts';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

export const users = '/api/collections/users';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** A service whose `users` may sign in at an issuer beside it. */
export class ProviderStage {
  readonly service: TestService;
  readonly issuer: OpenIdIssuer;

  private constructor(service: TestService, issuer: OpenIdIssuer) {
    this.service = service;
    this.issuer = issuer;
  }

  static async open(t: TestContext, options: TestServiceOptions = {}): Promise<ProviderStage> {
    const service = await startService(t, options);
    const redirects = [`${service.url}/api/oauth2-redirect`, 'http://127.0.0.1:9/back'];
    const issuer = await startIssuer(t, redirects);
    const stage = new ProviderStage(service, issuer);
    await stage.define({ providers: [{ name: 'oidc', ...issuerClient, extra: { issuer: issuer.url } }] });
    return stage;
  }

  async define(oauth2: object, more: object = {}): Promise<Json> {
    return this.ok('PATCH', users, { oauth2: { enabled: true, ...oauth2 }, ...more });
  }

  /** Makes a request as a superuser, which succeeds. */
  async ok(method: string, path: string, body?: object): Promise<Json> {
    const answer = await this.service.request(path, { method, token: true, ...(body && { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.json;
  }

  /** Returns how to sign in at a provider. */
  async method(name = 'oidc'): Promise<Json> {
    const { json } = await this.service.request(`${users}/auth-methods`);
    const methods: readonly Json[] = json.oauth2.providers;
    return methods.find((one) => one.name === name);
  }

  /** Signs in at the issuer as this user, and returns what the client gets of it. */
  async code(user: IssuerUser): Promise<{ readonly body: Json; readonly state: string | null }> {
    this.issuer.user = user;
    const { authURL, codeVerifier } = await this.method();
    const redirectURL = 'http://127.0.0.1:9/back';
    const end = await this.issuer.browse(authURL + encodeURIComponent(redirectURL));
    const code = end.searchParams.get('code');
    assert.ok(code !== null, end.href);
    const body = { provider: 'oidc', code, codeVerifier, redirectURL };
    return { body, state: end.searchParams.get('state') };
  }

  /** Signs in by a code. */
  async signIn(user: IssuerUser, more: object = {}, token?: string): Promise<TestAnswer> {
    const { body } = await this.code(user);
    return this.exchange({ ...body, ...more }, token);
  }

  exchange(body: object, token?: string): Promise<TestAnswer> {
    return this.service.request(`${users}/auth-with-oauth2`, {
      method: 'POST',
      body,
      ...(token !== undefined && { token }),
    });
  }

  async list(collection: string, filter = ''): Promise<readonly Json[]> {
    const query = `filter=${encodeURIComponent(filter)}&perPage=200`;
    return (await this.ok('GET', `/api/collections/${collection}/records?${query}`)).items;
  }
}
