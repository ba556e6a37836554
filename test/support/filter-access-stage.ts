import type { TestContext } from 'node:test';
import { keyScopes } from '../../src/access/caller.ts';
import { EventStream } from './event-stream.ts';
import { makeKey } from './make-key.ts';
import { posts, RealtimeStage, withOptions } from './realtime-stage.ts';
import type { TestAnswer, TestRequest, TestService } from './service.ts';

/** Names that filters and sorts may try, by what they lead to. The first is for everybody who gets as far as a filter. */
export const namesTried = {
  'own field': 'title',
  'hidden field': 'secret',
  'related field': 'author.name',
  'hidden related field': 'author.token',
  'hidden relation': 'reviewer.name',
  'field behind a back relation': 'notes_via_post.text',
  'count of a back relation': 'notes_via_post:length',
  superusers: '@collection._superusers.email',
  request: '@request.auth.id',
  'no field': 'nothing',
} as const;

export type NameTried = keyof typeof namesTried;

/** Lists with a filter or a sort in the query, with the parameter. */
const placesInLists = [
  '/api/collections/{collection}/records',
  '/api/records/{collection}',
  '/api/collections',
  '/api/webhooks/endpoints',
  '/api/webhooks/lanes',
  '/api/webhooks/deliveries',
  '/api/webhooks/events',
  '/api/webhooks/portal-links',
  '/api/keys',
  '/api/audit',
  '/api/logs',
]
  .flatMap((path) => [`GET ${path}, filter`, `GET ${path}, sort`])
  .concat('GET /api/webhooks/feed, filter', 'GET /api/logs/stats, filter');

const password = 'correct horse';
const users = '/api/collections/users';
const endpoints = '/api/webhooks/endpoints';

/** A service whose records have something to hide, and everybody who may ask for them. */
export class FilterAccessStage {
  readonly service: TestService;
  readonly #t: TestContext;
  readonly #tokens: ReadonlyMap<string, string>;
  readonly #endpoint: string;

  private constructor(
    t: TestContext,
    parts: {
      readonly service: TestService;
      readonly tokens: ReadonlyMap<string, string>;
      readonly endpoint: string;
    },
  ) {
    this.#t = t;
    this.service = parts.service;
    this.#tokens = parts.tokens;
    this.#endpoint = parts.endpoint;
  }

  static async start(t: TestContext): Promise<FilterAccessStage> {
    const stage = await RealtimeStage.open(t, { listRule: null, viewRule: null, name: 'elsewhere' });
    const { service } = stage;
    await stage.ok('PATCH', users, { listRule: '', viewRule: '', webhooks: { enabled: true } });
    const relation = { type: 'relation', collectionId: '_pb_users_auth_' };
    const text = (name: string, more: object = {}): object => ({ name, type: 'text', ...more });
    const authors = await stage.ok('POST', '/api/collections', {
      name: 'authors',
      listRule: '',
      fields: [text('name'), text('token', { hidden: true })],
    });
    const made = await stage.ok('POST', '/api/collections', {
      name: 'posts',
      listRule: '',
      viewRule: '',
      fields: [
        text('title'),
        text('secret', { hidden: true }),
        { ...relation, name: 'author', collectionId: authors.id },
        { ...relation, name: 'reviewer', hidden: true },
      ],
    });
    await stage.ok('POST', '/api/collections', {
      name: 'notes',
      listRule: '',
      fields: [text('text'), { ...relation, name: 'post', collectionId: made.id }],
    });
    await stage.ok('POST', posts, { title: 'a', secret: 'hidden' });
    const user = { email: 'user@example.com', password, passwordConfirm: password };
    const { id } = await stage.ok('POST', `${users}/records`, user);
    const signIn = `${users}/auth-with-password`;
    const body = { identity: user.email, password };
    const { token } = (await service.request(signIn, { method: 'POST', body })).json;
    const { token: file } = (await service.request('/api/files/token', { method: 'POST', token })).json;
    const { token: impersonated } = await stage.ok('POST', `${users}/impersonate/${id}`, { duration: 600 });
    const target = await stage.ok('POST', endpoints, { url: 'https://example.com/hook' });
    const tokens = new Map([
      ['account', token],
      ['file token', file],
      ['impersonation', impersonated],
      ['superuser', service.superuser.token],
    ]);
    for (const scope of keyScopes) tokens.set(`key ${scope}`, (await makeKey(service, [scope])).key);
    const wide = ['records:read', 'webhooks:read', 'webhooks:write'];
    const [collections, bound] = [[authors.id], [target.id]];
    tokens.set('key of webhooks', (await makeKey(service, wide.slice(1))).key);
    tokens.set('key of all these', (await makeKey(service, wide)).key);
    const reading = wide.slice(0, 1);
    tokens.set('key of another collection', (await makeKey(service, reading, { collections })).key);
    tokens.set('key of an endpoint', (await makeKey(service, wide.slice(1), { endpoints: bound })).key);
    return new FilterAccessStage(t, { service, tokens, endpoint: target.id });
  }

  get callers(): readonly string[] {
    return ['guest', ...this.#tokens.keys()];
  }

  /** What reads a filter or a sort, by operation and parameter, and how one is sent there: a status of 400 or more is a refusal. */
  get places(): Readonly<Record<string, (caller: string, name: string) => Promise<number>>> {
    const places: Record<string, (caller: string, name: string) => Promise<number>> = {};
    for (const place of placesInLists) {
      const [path = '', key = ''] = place.slice('GET '.length).split(', ');
      const of = (name: string): string =>
        `${path.replace('{collection}', 'posts')}?${key}=${encodeURIComponent(key === 'sort' ? name : equal(name))}`;
      places[place] = (caller, name) => this.#status(caller, { path: of(name) });
    }
    return { ...places, ...this.#placesInBodies };
  }

  get #placesInBodies(): Readonly<Record<string, (caller: string, name: string) => Promise<number>>> {
    const body =
      (path: string, make: (filter: string) => object, method = 'POST') =>
      (caller: string, name: string) =>
        this.#status(caller, { path, method, body: make(equal(name)) });
    const ofEndpoint = `${endpoints}/${this.#endpoint}`;
    const collections = ['posts'];
    const url = 'https://example.com/hook';
    return {
      'POST /api/webhooks/endpoints/{id}/replay': body(`${ofEndpoint}/replay`, (filter) => ({
        scope: 'all',
        filter,
        dryRun: true,
      })),
      'POST /api/webhooks/endpoints/{id}/backfill': body(`${ofEndpoint}/backfill`, (filter) => ({
        collection: 'posts',
        filter,
        dryRun: true,
      })),
      'POST /api/webhooks/filters/test': body('/api/webhooks/filters/test', (filter) => ({
        collection: 'posts',
        filter,
      })),
      'POST /api/webhooks/endpoints/check': body(`${endpoints}/check`, (filter) => ({
        url,
        collections,
        filter,
      })),
      'POST /api/webhooks/endpoints': (caller, name) =>
        this.#createEndpoint(caller, { url, collections, filter: equal(name) }),
      'PATCH /api/webhooks/endpoints/{id}': body(ofEndpoint, (filter) => ({ collections, filter }), 'PATCH'),
      'PUT /api/webhooks/endpoints/import': body(
        `${endpoints}/import`,
        (filter) => ({ endpoints: [{ name: 'imported', url, collections, filter }], dryRun: true }),
        'PUT',
      ),
      'POST /api/collections/{collection}/filters/check': body(
        '/api/collections/posts/filters/check',
        (filter) => ({ filter }),
      ),
      'POST /api/realtime': (caller, name) => this.#subscribe(caller, equal(name)),
    };
  }

  async #status(
    caller: string,
    { path, ...request }: TestRequest & { readonly path: string },
  ): Promise<number> {
    const token = this.#tokens.get(caller);
    const answer = await this.service.request(path, { ...request, ...(token !== undefined && { token }) });
    return isFound(answer) ? answer.status : Math.max(answer.status, 400);
  }

  /** An account may have few endpoints at the same time. */
  async #createEndpoint(caller: string, body: object): Promise<number> {
    const status = await this.#status(caller, { path: endpoints, method: 'POST', body });
    const made = await this.service.request(`${endpoints}?filter=owner!=''&fields=id`, { token: true });
    for (const { id } of made.json.items)
      await this.service.request(`${endpoints}/${id}`, { method: 'DELETE', token: true });
    return status;
  }

  async #subscribe(caller: string, filter: string): Promise<number> {
    const stream = await EventStream.open(this.#t, this.service.url);
    const topic = withOptions('posts/*', { query: { filter } });
    const body = { clientId: stream.clientId, subscriptions: [topic] };
    const status = await this.#status(caller, { path: '/api/realtime', method: 'POST', body });
    stream.close();
    return status;
  }
}

let count = 0;

/** No two filters are the same: none is accepted because another caller has saved it before. */
function equal(name: string): string {
  count += 1;
  return `${name} = 'hidden ${count}'`;
}

/** A check answers 200 whatever it finds. */
function isFound({ json }: TestAnswer): boolean {
  return json?.isValid !== false && json?.problems?.filter === undefined;
}
