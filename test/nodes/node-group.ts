import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type App, type AppParts, startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import type { Clock } from '../../src/base/clock.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { type Flags, readConfig } from '../../src/config/config.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { listNodes } from '../../src/dispatch/nodes/leased-ownership.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { onSlug } from '../support/on-slug.ts';
import { openTestPostgres } from '../support/postgres.ts';
import { type ReceivedRequest, Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const testKey = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';

export const superuser = { identity: 'root@example.com', password: 'correct horse' };

/** Anybody may do anything with it. */
export const posts = {
  name: 'posts',
  type: 'base',
  fields: [{ name: 'title', type: 'text' }],
  listRule: '',
  viewRule: '',
  createRule: '',
  updateRule: '',
  deleteRule: '',
};

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any
}

interface NodeGroupParts {
  readonly postgres: string;
  readonly receiver: Receiver;
  readonly clock: Clock | undefined;
}

/** Several servers in this process on one fresh PostgreSQL database, and a receiver; all end with the test. */
export class NodeGroup {
  readonly postgres: string;
  readonly receiver: Receiver;
  /** What the nodes logged as warnings and errors. */
  readonly log: string[] = [];
  token = '';
  readonly #t: TestContext;
  readonly #clock: Clock | undefined;

  private constructor(t: TestContext, parts: NodeGroupParts) {
    this.#t = t;
    this.postgres = parts.postgres;
    this.receiver = parts.receiver;
    this.#clock = parts.clock;
  }

  /** A `clock` that is given stands for the time of all nodes and of the database. */
  static async open(t: TestContext, clock?: Clock): Promise<NodeGroup> {
    const postgres = await (await openTestPostgres()).createDatabase();
    return new NodeGroup(t, { postgres, receiver: await Receiver.open(), clock });
  }

  /** A node; `postgres` may lead to the database by another way. */
  async start(postgres = this.postgres, more: Flags = {}, stands: AppParts = {}): Promise<App> {
    const clock = this.#clock && { clock: this.#clock };
    const parts = { ...stands, logger: logInto(this.log), ...clock };
    const flags = { data: temporaryFolder(this.#t), port: '0', dev: true, postgres, ...more };
    const app = await startApp(readConfig(flags, { CHANCERY_KEY: testKey }), parts);
    let stopping: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopping ??= app.stop());
    this.#t.after(async () => {
      await stop();
      await this.receiver.close();
    });
    return { ...app, stop };
  }

  /** Makes the superuser through one node; its token is good on all. */
  async signIn(app: App): Promise<void> {
    await onSlug(app.data, 'default', (instance) =>
      upsertSuperuser(instance, superuser.identity, superuser.password),
    );
    const path = '/api/collections/_superusers/auth-with-password';
    this.token = String((await this.ask(app, `POST ${path}`, superuser)).json.token);
  }

  /** One request, `METHOD /path`, with the superuser's token when there is one. */
  async ask(app: App, what: string, body?: unknown): Promise<Answer> {
    const [method = 'GET', path = '/'] = what.split(' ');
    const authorization = this.token === '' ? {} : { authorization: this.token };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = {
      ...authorization,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const response = await fetch(app.url + path, { method, headers, ...content });
    const text = await response.text();
    const json: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, retryAfter: response.headers.get('retry-after'), json };
  }

  /** As `ask`; fails unless it is answered with success. */
  async get(app: App, what: string, body?: unknown): Promise<Answer['json']> {
    const { status, json } = await this.ask(app, what, body);
    assert.ok(status >= 200 && status < 300, `${what}: ${status} ${JSON.stringify(json)}`);
    return json;
  }

  /** An instance with `posts` and an endpoint at `/slug`; gives the endpoint's secret. */
  async makeInstance(app: App, slug: string): Promise<string> {
    const entry = await app.data.directory.create(slug, null);
    const url = this.receiver.urlAt('127.0.0.1', `/${slug}`);
    const { policy } = readConfig({ dev: true }, {});
    return onInstance(app.data, entry, async (instance) => {
      await createCollection({ ...instance, now: instance.clock.now() }, posts);
      const endpoint = await createEndpoint(instance, { url, maxInFlight: 8, timeoutMs: 30_000 }, policy);
      return endpoint.secret;
    });
  }

  /** Shards of each node that lives, once there are so many nodes and all shards are divided fairly. */
  async divided(app: App, nodes: number): Promise<void> {
    const share = Math.ceil(256 / nodes);
    await eventually(`256 shards divided among ${nodes}`, async () => {
      const shards = (await listNodes(app.data.home.control)).map((node) => node.shards);
      const sum = shards.reduce((total, each) => total + each, 0);
      assert.deepEqual([shards.length, sum], [nodes, 256], `${shards.join(' + ')} shards`);
      assert.ok(
        shards.every((each) => each <= share),
        `${shards.join(' + ')} shards`,
      );
      return true;
    });
  }
}

/** Fails unless the signature is right, by the stock library. */
export function verify({ body, headers }: ReceivedRequest, secret: string): void {
  new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
}

/** Of each record that was told of, `X-Service-Sequence` in rising order. */
export function sequences(requests: readonly ReceivedRequest[]): ReadonlyMap<string, readonly number[]> {
  const byRecord = Map.groupBy(requests, ({ body, path }) => {
    // What webhooks.md section 1 describes: the record's state is `data`.
    const { data } = JSON.parse(body.toString('utf8')) as { readonly data: { readonly id: string } };
    return `${path} ${data.id}`;
  });
  const numbers = (list: readonly ReceivedRequest[]): readonly number[] =>
    list.map(({ headers }) => Number(headers['x-service-sequence'])).toSorted((a, b) => a - b);
  return new Map([...byRecord].map(([record, list]) => [record, numbers(list)]));
}
