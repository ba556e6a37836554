import { unreachable } from '../../src/base/assert.ts';
import type { Random } from '../faults/random.ts';
import {
  chooseChange,
  chooseFirst,
  chooseRead,
  chooseWalk,
  chooseWrite,
  type Chooser,
} from './choose-operation.ts';
import type { CollectionName } from './collections.ts';
import {
  isDone,
  itemsOf,
  toValues,
  type Answer,
  type Exchange,
  type History,
  type Intent,
  type Operation,
  type Shown,
  type Values,
} from './exchange.ts';

export interface ClientOptions {
  readonly name: string;
  readonly random: Random;
  /** Where the nodes listen. */
  readonly urls: readonly string[];
  /** Of a superuser; a guest has none. */
  readonly token: string | undefined;
  readonly history: History;
  /** Shared by all clients. */
  readonly shown: Map<string, Shown>;
}

/** Somebody who asks for one thing after the other, through whichever node, and notes all that is answered. */
export class Client {
  readonly #options: ClientOptions;
  readonly #chooser: Chooser;
  #tokens = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { random, shown, name } = options;
    this.#chooser = { random, shown, newToken: () => `${name}-${(this.#tokens += 1)}` };
  }

  async write(): Promise<void> {
    const operation = chooseWrite(this.#chooser);
    if (!('key' in operation)) return void (await this.#send(operation));
    // At the same time, or one after the other.
    if (this.#options.random.unit() < 0.5) await Promise.all([this.#send(operation), this.#send(operation)]);
    else for (let times = 0; times < 2; times += 1) await this.#send(operation);
  }

  /** The same several times, as only then memory answers. */
  async read(): Promise<void> {
    const { random } = this.#options;
    if (random.unit() < 0.1) return this.#walk();
    const operation = chooseRead(this.#chooser);
    for (let times = random.integer(1, 4); times > 0; times -= 1) await this.#send(operation);
  }

  async change(): Promise<void> {
    await this.#send(chooseChange(this.#options.random));
  }

  async begin(): Promise<void> {
    await this.#send(chooseFirst(this.#chooser));
  }

  async readAll(collection: CollectionName): Promise<readonly Values[]> {
    return itemsOf(await this.#send({ kind: 'list', collection, query: 'perPage=1000', isWhole: true }));
  }

  async #walk(): Promise<void> {
    const asked = chooseWalk(this.#options.random);
    const pages: Exchange[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await this.#send({
        kind: 'list',
        ...asked,
        query: asked.query + encodeURIComponent(cursor),
      });
      if (page.status !== 200) return;
      pages.push(page);
      // As docs/lists.md has it.
      cursor = (page.json as { readonly nextCursor: string | null }).nextCursor;
    }
    this.#options.history.walks.push({ collection: asked.collection, pages });
  }

  async #send(operation: Operation): Promise<Exchange> {
    const { random, urls, token, history } = this.#options;
    const node = random.integer(0, urls.length - 1);
    const startedAt = Date.now();
    const startMs = performance.now();
    const answer = await this.#ask(urls[node] ?? '', operation);
    const endMs = performance.now();
    const isSuperuser = token !== undefined;
    const exchange = {
      ...answer,
      operation,
      isSuperuser,
      node,
      startMs,
      endMs,
      startedAt,
      endedAt: Date.now(),
    };
    history.exchanges.push(exchange);
    this.#note(exchange);
    return exchange;
  }

  async #ask(url: string, operation: Operation): Promise<Answer> {
    switch (operation.kind) {
      case 'write':
        return this.#request(url, { ...toRequest(operation.intents[0]), key: operation.key });
      case 'batch': {
        const requests = operation.intents.map((intent) => toRequest(intent));
        return this.#request(url, {
          method: 'POST',
          url: '/api/batch',
          body: { requests },
          key: operation.key,
        });
      }
      case 'truncate':
        return this.#request(url, {
          method: 'DELETE',
          url: `/api/collections/${operation.collection}/truncate`,
        });
      case 'view': {
        const { collection, id, known, expand } = operation;
        const query = expand === undefined ? '' : `?expand=${expand}`;
        const headers = known === undefined ? {} : { 'if-none-match': known.etag };
        return this.#request(url, {
          method: 'GET',
          url: `/api/collections/${collection}/records/${id}${query}`,
          headers,
        });
      }
      case 'list':
        return this.#request(url, {
          method: 'GET',
          url: `/api/collections/${operation.collection}/records?${operation.query}`,
        });
      case 'rule': {
        const [collection = '', rule = ''] = operation.rule.split('.');
        return this.#request(url, {
          method: 'PATCH',
          url: `/api/collections/${collection}`,
          body: { [rule]: operation.value },
        });
      }
      case 'rename':
        return this.#rename(url);
      default:
        return unreachable(operation);
    }
  }

  /** The field that is called one of both becomes the other. */
  async #rename(url: string): Promise<Answer> {
    const found = await this.#request(url, { method: 'GET', url: '/api/collections/posts' });
    // What docs/collections.md describes.
    const { fields } = found.json as { readonly fields: readonly Values[] };
    const other: Readonly<Record<string, string>> = { label: 'caption', caption: 'label' };
    const renamed = fields.map((field) => ({
      ...field,
      name: other[String(field['name'])] ?? field['name'],
    }));
    return this.#request(url, { method: 'PATCH', url: '/api/collections/posts', body: { fields: renamed } });
  }

  async #request(origin: string, { method, url, body, headers = {}, key }: Request): Promise<Answer> {
    const { token } = this.#options;
    const response = await fetch(origin + url, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: token }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json: unknown = text === '' ? undefined : JSON.parse(text);
    const isReplayed = response.headers.get('idempotent-replayed') === 'true';
    return { status: response.status, etag: response.headers.get('etag') ?? '', isReplayed, json };
  }

  #note({ operation, json, etag, ...answer }: Exchange): void {
    const { shown } = this.#options;
    if (operation.kind === 'batch' && isDone(answer)) this.#noteBatch(operation.intents);
    const subject =
      operation.kind === 'view' ? operation : operation.kind === 'write' ? operation.intents[0] : undefined;
    if (subject === undefined) return;
    const key = `${subject.collection}/${subject.id}`;
    if (answer.status === 404 || answer.status === 204) shown.delete(key);
    // What docs/records.md describes; an expanded view has no tag.
    else if (isDone(answer) && etag !== '') shown.set(key, { etag, values: toValues(json as Values) });
  }

  /** Of which only the next view will tell more. */
  #noteBatch(intents: readonly Intent[]): void {
    for (const { collection, id, kind } of intents) {
      const key = `${collection}/${id}`;
      if (kind === 'delete') this.#options.shown.delete(key);
      else if (!this.#options.shown.has(key)) this.#options.shown.set(key, { etag: '"1-x"', values: {} });
    }
  }
}

interface Request {
  readonly method: string;
  readonly url: string;
  readonly body?: Values;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string | undefined;
}

function toRequest({ kind, collection, id, body, expected }: Intent): Request {
  const records = `/api/collections/${collection}/records`;
  const headers: Readonly<Record<string, string>> =
    expected === undefined ? {} : { 'if-match': `"${expected}-x"` };
  switch (kind) {
    case 'create':
      return { method: 'POST', url: records, body, headers };
    case 'upsert':
      return { method: 'PUT', url: records, body, headers };
    case 'update':
      return { method: 'PATCH', url: `${records}/${id}`, body, headers };
    case 'delete':
      return { method: 'DELETE', url: `${records}/${id}`, headers };
    default:
      return unreachable(kind);
  }
}
