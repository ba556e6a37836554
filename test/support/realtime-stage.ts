import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { EventStream } from './event-stream.ts';
import { startService, type TestAnswer, type TestService, type TestServiceOptions } from './service.ts';

/** Path of the records of the stage's collection. */
export const posts = '/api/collections/posts/records';

/** A service with a collection that everybody may list, and connections to it. */
export class RealtimeStage {
  readonly service: TestService;
  readonly #t: TestContext;

  constructor(t: TestContext, service: TestService) {
    this.#t = t;
    this.service = service;
  }

  static async open(
    t: TestContext,
    definition: object = {},
    options: TestServiceOptions = {},
  ): Promise<RealtimeStage> {
    const stage = new RealtimeStage(t, await startService(t, options));
    await stage.ok('POST', '/api/collections', {
      name: 'posts',
      listRule: '',
      viewRule: '',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'secret', type: 'text', hidden: true },
        { name: 'meta', type: 'json' },
      ],
      ...definition,
    });
    return stage;
  }

  /** Makes a request as a superuser, which succeeds. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async ok(method: string, path: string, body?: object): Promise<any> {
    const answer = await this.service.request(path, { method, token: true, ...(body && { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.json;
  }

  connect(): Promise<EventStream> {
    return EventStream.open(this.#t, this.service.url);
  }

  set(clientId: string, subscriptions: unknown, token?: true | string): Promise<TestAnswer> {
    const body = { clientId, subscriptions };
    return this.service.request('/api/realtime', { method: 'POST', body, ...(token && { token }) });
  }

  async subscribed(...topics: readonly string[]): Promise<EventStream> {
    const stream = await this.connect();
    const answer = await this.set(stream.clientId, topics);
    assert.equal(answer.status, 204, answer.text);
    return stream;
  }

  async create(title: string, more: object = {}): Promise<string> {
    return (await this.ok('POST', posts, { title, ...more })).id;
  }
}

/** A topic with the options of a request. */
export function withOptions(topic: string, options: object): string {
  return `${topic}?options=${encodeURIComponent(JSON.stringify(options))}`;
}
