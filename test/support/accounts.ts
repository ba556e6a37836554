import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

export const password = 'correct horse';

/** Path of the records of `users`, the auth collection of a new instance. */
export const users = '/api/collections/users/records';

export interface Account {
  readonly id: string;
  readonly email: string;
  readonly token: string;
}

/** A service, with the requests that tests make about accounts of its `users`. */
export class Accounts {
  readonly service: TestService;

  constructor(service: TestService) {
    this.service = service;
  }

  static async start(t: TestContext, options: TestServiceOptions = {}): Promise<Accounts> {
    return new Accounts(await startService(t, options));
  }

  /** Makes a request, as a guest unless a token is given. */
  ask(
    method: string,
    path: string,
    options: { readonly body?: object; readonly token?: true | string | undefined } = {},
  ): Promise<TestAnswer> {
    const { body, token } = options;
    return this.service.request(path, { method, ...(body && { body }), ...(token && { token }) });
  }

  /** Changes the definition of `users`, its rules for example. */
  async define(definition: object): Promise<void> {
    const answer = await this.ask('PATCH', '/api/collections/users', { token: true, body: definition });
    assert.equal(answer.status, 200, answer.text);
  }

  signIn(identity: string, secret = password, collection = 'users'): Promise<TestAnswer> {
    const body = { identity, password: secret };
    return this.ask('POST', `/api/collections/${collection}/auth-with-password`, { body });
  }

  /** Signs up a new account, and signs it in. */
  async account(name: string, more: object = {}): Promise<Account> {
    const email = `${name}@example.com`;
    const body = { email, password, passwordConfirm: password, name, ...more };
    const made = await this.ask('POST', users, { body });
    assert.equal(made.status, 201, made.text);
    const { json } = await this.signIn(email);
    return { id: made.json.id, email, token: json?.token ?? '' };
  }

  update(id: string, body: object, token?: true | string): Promise<TestAnswer> {
    return this.ask('PATCH', `${users}/${id}`, { body, token });
  }

  /** True when `users` accepts this token. */
  async isIn(token: string): Promise<boolean> {
    const answer = await this.ask('POST', '/api/collections/users/auth-refresh', { token });
    assert.ok([200, 401].includes(answer.status), answer.text);
    return answer.status === 200;
  }
}

/** Returns the error codes of a refusal, by member. */
export function codes(answer: TestAnswer): Record<string, string> {
  const data: Record<string, { readonly code: string }> = answer.json.data;
  return Object.fromEntries(Object.entries(data).map(([name, { code }]) => [name, code]));
}
