import { createServer, type Server } from 'node:http';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { App } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { onInstance } from '../../src/open-data-directory.ts';

interface Sent {
  readonly body?: object;
  readonly token?: string;
}

const password = 'correct horse battery staple';
const shops = {
  name: 'shops',
  type: 'base',
  fields: [{ name: 'name', type: 'text', required: true }],
  viewRule: '',
};

/**
 * A service as people use one: a user with a token, orders whose rules compare a field with the caller, with a file and two relations, and
 * lines that are deleted with their order.
 */
export class WalkStage {
  readonly #app: App;
  readonly #folder: string;
  #token = '';
  #user = '';
  #shop = '';
  #receiver: Server | undefined;
  #log: DatabaseSync | undefined;
  #reader: ReadableStreamDefaultReader<string> | undefined;

  private constructor(app: App, folder: string) {
    this.#app = app;
    this.#folder = folder;
  }

  /** Makes all that the walks need on a new service, whose data are in `folder`. */
  static async prepare(app: App, folder: string): Promise<WalkStage> {
    const stage = new WalkStage(app, folder);
    const superuser = await stage.#signInSuperuser();
    const users = '/api/collections/users';
    const { id: usersId } = await stage.#send('GET', users, { token: superuser });
    const account = { email: 'ann@example.com', password, passwordConfirm: password };
    const { id } = await stage.#send('POST', `${users}/records`, { body: account, token: superuser });
    const signIn = { body: { identity: account.email, password } };
    const { token } = await stage.#send('POST', `${users}/auth-with-password`, signIn);
    [stage.#user, stage.#token] = [String(id), String(token)];
    const asSuperuser = async (path: string, body: object): Promise<JsonObject> =>
      stage.#send('POST', path, { body, token: superuser });
    const collection = await asSuperuser('/api/collections', shops);
    const orders = await asSuperuser('/api/collections', ordersOf(String(usersId), String(collection['id'])));
    await asSuperuser('/api/collections', linesOf(String(orders['id'])));
    stage.#shop = String((await asSuperuser('/api/collections/shops/records', { name: 'shop' }))['id']);
    return stage;
  }

  async #signInSuperuser(): Promise<string> {
    const entry = this.#app.data.directory.all()[0];
    if (entry === undefined) throw new Error('a new folder has its default instance');
    const identity = 'admin@example.com';
    await onInstance(this.#app.data, entry, async (instance) => {
      await upsertSuperuser(instance, identity, password);
    });
    const body = { identity, password };
    const path = '/api/collections/_superusers/auth-with-password';
    return String((await this.#send('POST', path, { body }))['token']);
  }

  /** Wakes the dispatcher, as each commit does a moment later, within a walk or after it. */
  wakeDispatcher(): void {
    for (const { id } of this.#app.data.directory.all()) this.#app.data.wakeUp.notify(id);
  }

  /** Makes a request as the user. */
  async ask(method: string, path: string, body?: object): Promise<JsonObject> {
    const token = this.#token;
    return this.#send(method, `/api/collections/${path}`, { token, ...(body !== undefined && { body }) });
  }

  async #send(method: string, path: string, { body, token }: Sent): Promise<JsonObject> {
    const isForm = body instanceof FormData;
    const response = await fetch(this.#app.url + path, {
      method,
      headers: {
        ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: token }),
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    const answer: unknown = text === '' ? {} : JSON.parse(text);
    return isJsonObject(answer) ? answer : {};
  }

  /** A new order of the user. */
  order(title: string): object {
    return { title, customer: this.#user, shop: this.#shop };
  }

  async addOrder(title: string): Promise<string> {
    return String((await this.ask('POST', 'orders/records', this.order(title)))['id']);
  }

  /** Adds an endpoint for the orders, whose receiver accepts everything. */
  async addEndpoint(): Promise<void> {
    const receiver = createServer((request, response) => {
      request.resume().on('end', () => response.end());
    });
    await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
    this.#receiver = receiver;
    const address = receiver.address();
    if (typeof address !== 'object' || address === null) throw new Error('the receiver has no port');
    const body = { url: `http://127.0.0.1:${address.port}/`, events: ['record.create'] };
    const token = await this.#signInSuperuser();
    await this.#send('POST', '/api/webhooks/endpoints', { body, token });
    const [path = ''] = globSync('**/data.db', { cwd: this.#folder });
    this.#log = new DatabaseSync(join(this.#folder, path), { readOnly: true });
  }

  /** How many deliveries are settled. Read by a connection of its own: nothing of the service runs for it. */
  settled(): number {
    const row = this.#log
      ?.prepare(`SELECT count(*) AS count FROM "$outcome" WHERE status = 'delivered'`)
      .get();
    return Number(row?.['count']);
  }

  async untilSettled(count: number): Promise<void> {
    while (this.settled() < count) await turn();
  }

  /** Subscribes the user to the orders. */
  async subscribe(): Promise<void> {
    const { body } = await fetch(`${this.#app.url}/api/realtime`);
    if (body === null) throw new Error('the stream has no body');
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const clientId = /"clientId":"([^"]+)"/.exec(await this.untilEvent('clientId'))?.[1];
    const subscriptions = { clientId, subscriptions: ['orders/*'] };
    await this.#send('POST', '/api/realtime', { body: subscriptions, token: this.#token });
  }

  /** Reads the stream until it has this text, and returns what it has read. */
  async untilEvent(text: string): Promise<string> {
    let read = '';
    while (!read.includes(text)) {
      const { value, done = true } = (await this.#reader?.read()) ?? {};
      if (done) throw new Error('the stream has ended');
      read += value ?? '';
    }
    return read;
  }

  async close(): Promise<void> {
    await this.#reader?.cancel();
    this.#log?.close();
    this.#receiver?.closeAllConnections();
    this.#receiver?.close();
  }
}

function ordersOf(users: string, shop: string): object {
  const isOwn = 'customer = @request.auth.id';
  return {
    name: 'orders',
    type: 'base',
    fields: [
      { name: 'title', type: 'text', max: 200, required: true },
      { name: 'customer', type: 'relation', collectionId: users, required: true },
      { name: 'shop', type: 'relation', collectionId: shop },
      { name: 'receipt', type: 'file', maxSize: 100_000 },
      { name: 'created', type: 'autodate', onCreate: true },
    ],
    listRule: isOwn,
    viewRule: isOwn,
    createRule: isOwn,
    updateRule: isOwn,
    deleteRule: isOwn,
  };
}

function linesOf(order: string): object {
  const isOwn = 'order.customer = @request.auth.id';
  return {
    name: 'lines',
    type: 'base',
    fields: [
      { name: 'order', type: 'relation', collectionId: order, cascadeDelete: true, required: true },
      { name: 'count', type: 'number', min: 1 },
    ],
    createRule: isOwn,
  };
}
