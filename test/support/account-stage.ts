import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { type Account, Accounts } from './accounts.ts';
import {
  type Json,
  startWebhookService,
  type WebhookService,
  type WebhookServiceOptions,
} from './webhook-service.ts';

export const endpoints = '/api/webhooks/endpoints';
export const posts = '/api/collections/posts/records';
/** Enough rows that no machine goes through their pairs in a second. */
const rowsMax = 20_000;
/** Who is called slow may view nothing, but only a look at every pair tells. */
const slow =
  'isPublic = true && (@request.auth.name != "slow" || @collection.words.note ?> @collection.words:other.word)';

/** A service whose accounts may have endpoints of their own, and view posts that are public. */
export interface AccountStage {
  readonly service: WebhookService;
  readonly accounts: Accounts;
  readonly account: (name: string, more?: object) => Promise<Account>;
  readonly own: (account: Account, settings?: object) => Promise<Json>;
  /** Titles in the order in which they came, by the path of the endpoint. */
  readonly told: (path?: string) => readonly string[];
}

export interface AccountStageOptions extends WebhookServiceOptions {
  /** Whether receivers must confirm that they want webhooks. */
  readonly verifies?: boolean;
}

export async function openAccountStage(
  t: TestContext,
  { verifies = false, ...options }: AccountStageOptions = {},
): Promise<AccountStage> {
  const service = await startWebhookService(t, options);
  const accounts = new Accounts(service);
  // Most tests are about what comes after that.
  await service.call('PATCH', '/api/settings', { body: { webhooks: { verifyAccountEndpoints: verifies } } });
  await accounts.define({ webhooks: { enabled: true }, createRule: '' });
  const rules = { viewRule: 'isPublic = true || title = @request.auth.id', createRule: '' };
  await service.call('PATCH', '/api/collections/posts', { body: rules });
  return {
    service,
    accounts,
    account: (name, more) => accounts.account(name, more),
    own: async ({ token }, settings = {}) => {
      const body = { url: service.receiver.url, collections: ['posts'], ...settings };
      const made = await service.request(endpoints, { method: 'POST', token, body });
      assert.equal(made.status, 201, made.text);
      return made.json;
    },
    told: (path = '/hook') =>
      service.receiver.requests.flatMap((request) =>
        request.path === path ? [String(JSON.parse(request.body.toString()).data.title)] : [],
      ),
  };
}

/** Adds a post and returns its id. */
export async function add({ service }: AccountStage, title: string, more: object = {}): Promise<string> {
  const body = { title, isPublic: true, ...more };
  return (await service.call('POST', posts, { body, status: 201 })).id;
}

/** Gives the posts a slow rule, which goes through a collection with many rows. */
export async function makeSlow({ service }: AccountStage): Promise<void> {
  const text = (name: string): object => ({ name, type: 'text' });
  await service.call('POST', '/api/collections', {
    body: { name: 'words', type: 'base', viewRule: '', listRule: '', fields: [text('note'), text('word')] },
  });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('words');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, note, word, "$revision")
        ${numbers} SELECT 'word' || n, 'note ' || n, 'word ' || n, 1 FROM n`),
    );
  });
  await service.call('PATCH', '/api/collections/posts', { body: { viewRule: slow } });
}
