import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { keyScopes, operator } from '../../src/access/caller.ts';
import { cancelSchemaJob, insertSchemaJob } from '../../src/operator/schema-jobs.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { sql } from '../../src/sql/sql.ts';
import { makeKey } from './make-key.ts';
import { createOperatorEndpoint } from '../../src/operator/operator-endpoints.ts';
import { makeOperatorKey, operatorOf } from './operator-stage.ts';
import { putFile } from './put-file.ts';
import { holdSchemaJobs } from './schema-stage.ts';
import { startService, type TestAnswer, type TestService } from './service.ts';
import { storedRows } from './stored-rows.ts';

/** Callers, in the order of the columns of spec/access.json. */
export const roles = [
  'guest',
  /** Owns the records that the cases are about. */
  'user',
  /** An account of the same collection that owns none of them. */
  'other',
  /** Admitted by the manage rule. */
  'manager',
  'superuser',
  /** An account of another instance with the same id as `user`. */
  'userElsewhere',
  /** A superuser of another instance with the same id as `superuser`. */
  'superuserElsewhere',
  /** An API key that reads records. */
  'readKey',
  /** An API key that reads and writes records, but only of a collection that no case is about. */
  'boundKey',
  /** An API key with every scope but `admin`. */
  'wideKey',
  'adminKey',
  'revokedKey',
  /** An operator key with the scope `admin`. */
  'operatorKey',
  /** An operator key that reads instances. */
  'operatorReader',
  /** The session of a portal link for an endpoint that no case is about. */
  'portalSession',
] as const;

export type Role = (typeof roles)[number];

const password = 'correct horse';
const superuserId = 'root00000000000';

/** Two instances with the same accounts, and methods that create the targets of access cases on demand. */
export class AccessStage {
  readonly service: TestService;
  readonly userId = 'user00000000000';
  readonly password = password;
  readonly #tokens = new Map<Role, string>();
  #count = 0;
  #endpoint = 'none';

  private constructor(service: TestService) {
    this.service = service;
  }

  static async start(t: TestContext): Promise<AccessStage> {
    const service = await startService(t);
    const stage = new AccessStage(service);
    await service.app.data.directory.create('elsewhere', null);
    await service.withInstance('elsewhere', (instance) =>
      upsertSuperuser(instance, 'root@example.com', password),
    );
    const elsewhere = await stage.#signIn('/i/elsewhere', '_superusers', 'root@example.com');
    for (const [prefix, root] of [
      ['', service.superuser.token],
      ['/i/elsewhere', elsewhere],
    ] as const) {
      const setUp = stage.#callerOf(prefix, root);
      await setUp('POST', '/api/collections/_superusers/records', accountOf(superuserId, 'superuser'));
      await setUp('PATCH', '/api/collections/users', usersDefinition);
      await setUp('POST', '/api/collections', notesDefinition);
      for (const name of ['user', 'other', 'manager'] as const)
        await setUp('POST', '/api/collections/users/records', accountOf(name.padEnd(15, '0'), name));
    }
    for (const role of ['user', 'other', 'manager'] as const)
      stage.#tokens.set(role, await stage.#signIn('', 'users', `${role}@example.com`));
    stage.#tokens.set('superuser', await stage.#signIn('', '_superusers', 'superuser@example.com'));
    stage.#tokens.set('userElsewhere', await stage.#signIn('/i/elsewhere', 'users', 'user@example.com'));
    const away = await stage.#signIn('/i/elsewhere', '_superusers', 'superuser@example.com');
    stage.#tokens.set('superuserElsewhere', away);
    await stage.#makeKeys();
    // One that goes on would change what the next cases compare.
    await holdSchemaJobs(service.app.data.home.control);
    return stage;
  }

  /** Stores a backup that is no archive, and returns its name: nobody can restore it. */
  async backup(): Promise<string> {
    const name = `${this.fresh()}.zip`;
    const id = await this.service.withInstance('default', async ({ shownId }) => Promise.resolve(shownId));
    const folder = join(this.service.data, 'backups', id);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), 'no archive');
    return name;
  }

  /** Returns an unused name, which is also a valid id. */
  fresh(): string {
    this.#count += 1;
    return `fresh${String(this.#count).padStart(10, '0')}`;
  }

  async ask(
    role: Role,
    method: string,
    { path, body }: { readonly path: string; readonly body?: object | undefined },
  ): Promise<TestAnswer> {
    const token = this.#tokens.get(role);
    const answer = await this.service.request(path, {
      method,
      ...(token !== undefined && { token }),
      ...(body && { body }),
    });
    // Who has signed out signs in again for the next case.
    const hasSignedOut = method === 'DELETE' && path.endsWith('/portal-links/current');
    if (hasSignedOut && answer.status < 400) await this.#openPortal([await this.collection()]);
    return answer;
  }

  /** Makes a request as the superuser, to create the target of a case. */
  async make(path: string, body: object = {}, method = 'POST'): Promise<TestAnswer['json']> {
    return this.#callerOf('', this.service.superuser.token)(method, path, body);
  }

  /** Makes an instance, suspended or deleted where that is asked for, and returns its slug. */
  async instance(state: 'active' | 'suspended' | 'deleted' = 'active'): Promise<string> {
    const { directory } = this.service.app.data;
    const { id, slug } = await directory.create(this.fresh(), null);
    if (state === 'suspended') await directory.suspend(id);
    if (state === 'deleted') await directory.delete(id);
    return slug;
  }

  /** A schema job that is over. */
  async schemaJob(): Promise<string> {
    const job = {
      dryRun: true,
      deleteMissing: false,
      stopAfter: 0,
      collections: '[]',
      instances: [],
      address: '',
    };
    return this.service.app.data.home.control.write(async (tx) => {
      const { id } = await insertSchemaJob(tx, job, 0);
      return (await cancelSchemaJob(tx, id, 0)).id;
    });
  }

  /** Returns the id of a paused endpoint of the operator, which is made where there is none: there can be few. */
  async operatorEndpoint(): Promise<string> {
    const operator = operatorOf(this.service);
    const [first] = await operator.endpoints.all();
    const body = { url: 'http://127.0.0.1:9/hook', status: 'paused' };
    const { id } = first ?? (await createOperatorEndpoint(operator, body, 'operator'));
    return String(id);
  }

  async note(): Promise<string> {
    return (await this.make('/api/collections/notes/records', { title: 'a note', owner: this.userId })).id;
  }

  /** A delete in steps, by the operator, that is done: one that is not would go on during another case, and change what that compares. */
  async job(): Promise<string> {
    const id = await this.note();
    const request = { collection: 'notes', id, waitMs: Number.POSITIVE_INFINITY };
    return this.service.withInstance('default', async (instance) => {
      const job = await this.service.app.data.removals.remove(instance, ruleInputOfCaller(operator), request);
      assert.equal(job.state, 'done');
      return job.id;
    });
  }

  /** Returns the path of a file of a note of the user, in its field `cover`, or `letter`, which is protected. */
  async file(field: 'cover' | 'letter'): Promise<string> {
    const record = await this.note();
    const place = { collection: 'notes', record, field, name: 'a.txt' };
    await this.service.withInstance('default', (instance) => putFile(instance, place, 'a file'));
    return `/api/files/notes/${record}/a.txt`;
  }

  async collection(): Promise<string> {
    return (await this.make('/api/collections', { name: this.fresh() })).name;
  }

  async account(): Promise<string> {
    const name = this.fresh();
    return (await this.make('/api/collections/users/records', accountOf(name, name))).id;
  }

  async superuser(): Promise<string> {
    const name = this.fresh();
    return (await this.make('/api/collections/_superusers/records', accountOf(name, name))).id;
  }

  /** Creates a paused endpoint: nothing is sent to it, so its deliveries do not change by themselves. */
  async endpoint(): Promise<string> {
    // Deletes the previous one, since an instance may have at most a hundred; a case may have deleted it already.
    const old = `/api/webhooks/endpoints/${this.#endpoint}`;
    await this.service.request(old, { method: 'DELETE', token: true });
    const { id } = await this.make('/api/webhooks/endpoints', { url: 'http://127.0.0.1:9/' });
    await this.make(`/api/webhooks/endpoints/${id}/pause`);
    this.#endpoint = id;
    return id;
  }

  /** Creates a delivery to a new endpoint, which is the only one. */
  async delivery(): Promise<string> {
    const endpoint = await this.endpoint();
    await this.note();
    const filter = encodeURIComponent(`endpoint = '${endpoint}'`);
    const page = await this.service.request(`/api/webhooks/deliveries?filter=${filter}`, { token: true });
    return page.json.items[0].id;
  }

  /** Begins a replay of a new endpoint, which goes on while that is paused. */
  async replay(): Promise<string> {
    const endpoint = await this.endpoint();
    return (await this.make(`/api/webhooks/endpoints/${endpoint}/replay`, { scope: 'missing' })).id;
  }

  async catcher(): Promise<string> {
    return (await this.make('/api/webhooks/catchers', {})).id;
  }

  /** Makes a consumer of the feed and returns its path. */
  async consumer(): Promise<string> {
    const path = '/api/webhooks/consumers/reader';
    await this.service.request(path, { method: 'PUT', token: true, body: {} });
    return path;
  }

  async key(): Promise<string> {
    return (await makeKey(this.service, ['records:read'])).id;
  }

  async portalLink(): Promise<string> {
    const endpoints = [await this.endpoint()];
    return (await this.make('/api/webhooks/portal-links', { endpoints })).id;
  }

  async logEntry(): Promise<string> {
    const page = await this.service.request('/api/logs?perPage=1', { token: true });
    return page.json.items[0].id;
  }

  /** Returns all rows that the instance and the directory store, except for what their own timers change. */
  async rows(): ReturnType<typeof storedRows> {
    const { control } = this.service.app.data.home;
    const table = control.names.table('$instance');
    const instances = await control.all(sql`SELECT id, slug, host, state, labels FROM ${table} ORDER BY id`);
    return {
      ...(await this.service.withInstance('default', storedRows)),
      ...Object.fromEntries(instances.map((row) => [`$instance ${String(row['id'])}`, row])),
    };
  }

  async #makeKeys(): Promise<void> {
    const collections = [await this.collection()];
    const few = keyScopes.filter((scope) => scope !== 'admin');
    const { id, key: revoked } = await makeKey(this.service, ['admin']);
    await this.make(`/api/keys/${id}`, {}, 'DELETE');
    this.#tokens.set('readKey', (await makeKey(this.service, ['records:read'])).key);
    const bound = await makeKey(this.service, ['records:read', 'records:write'], { collections });
    this.#tokens.set('boundKey', bound.key);
    this.#tokens.set('wideKey', (await makeKey(this.service, few)).key);
    this.#tokens.set('adminKey', (await makeKey(this.service, ['admin'])).key);
    this.#tokens.set('revokedKey', revoked);
    this.#tokens.set('operatorKey', (await makeOperatorKey(this.service)).key);
    this.#tokens.set('operatorReader', (await makeOperatorKey(this.service, ['instances:read'])).key);
    await this.#openPortal(collections);
  }

  async #openPortal(collections: readonly string[]): Promise<void> {
    const body = { url: 'http://127.0.0.1:9/', collections, status: 'paused' };
    const { id } = await this.make('/api/webhooks/endpoints', body);
    const { url } = await this.make('/api/webhooks/portal-links', { endpoints: [id] });
    const { token } = await this.make('/api/webhooks/portal-links/use', {
      token: new URL(url).hash.slice(1),
    });
    this.#tokens.set('portalSession', token);
  }

  #callerOf(
    prefix: string,
    token: string,
  ): (method: string, path: string, body: object) => Promise<TestAnswer['json']> {
    return async (method, path, body) => {
      const answer = await this.service.request(prefix + path, { method, token, body });
      assert.ok(answer.status < 300, `${method} ${prefix}${path}: ${answer.status} ${answer.text}`);
      return answer.json;
    };
  }

  async #signIn(prefix: string, collection: string, identity: string): Promise<string> {
    const path = `${prefix}/api/collections/${collection}/auth-with-password`;
    const answer = await this.service.request(path, { method: 'POST', body: { identity, password } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json.token;
  }
}

const usersDefinition = {
  manageRule: "@request.auth.name = 'manager'",
  otp: { enabled: true },
  // Off, because the origin of a sign-in is stored after its answer, during the next case.
  authAlert: { enabled: false },
  updateRule: "id = @request.auth.id || @request.auth.name = 'manager'",
};

const notesDefinition = {
  name: 'notes',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'cover', type: 'file' },
    { name: 'letter', type: 'file', protected: true },
    { name: 'owner', type: 'relation', collectionId: '_pb_users_auth_' },
  ],
  listRule: 'owner = @request.auth.id',
  viewRule: 'owner = @request.auth.id',
  createRule: "@request.auth.id != '' && owner = @request.auth.id",
  updateRule: 'owner = @request.auth.id',
  deleteRule: 'owner = @request.auth.id',
};

function accountOf(id: string, name: string): object {
  return { id, name, email: `${name}@example.com`, password, passwordConfirm: password };
}
