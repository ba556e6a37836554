import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Engine } from '../../src/storage/database.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { environment } from '../faults/prepare-instances.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { logInto } from '../support/log-into.ts';
import { onSlug } from '../support/on-slug.ts';
import { openTestPostgres } from '../support/postgres.ts';
import type { StoredEvent } from './chains.ts';
import { type CollectionName, definitions } from './collections.ts';
import type { Told, ToldEndpoint } from './evidence.ts';
import { toValues, type Values } from './exchange.ts';
import { Listener } from './listener.ts';

const superuser = { email: 'root@example.com', password: 'correct horse' };

/** Nodes over one database, with the collections of a history and endpoints that are told of them. */
export class Stage {
  readonly listener: Listener;
  token = '';
  /** What nodes logged as warnings and errors. */
  readonly log: string[] = [];
  readonly endpoints: ToldEndpoint[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'chancery-history-'));
  readonly #apps: App[] = [];
  #database: string | undefined;

  private constructor(listener: Listener) {
    this.listener = listener;
  }

  static async open(engine: Engine, nodes: number): Promise<Stage> {
    const stage = new Stage(await Listener.open());
    if (engine === 'postgres') stage.#database = await (await openTestPostgres()).createDatabase();
    for (let count = 0; count < nodes; count += 1) await stage.#start();
    await stage.#withInstance((instance) => stage.#prepare(instance));
    return stage;
  }

  get urls(): readonly string[] {
    return this.#apps.map(({ url }) => url);
  }

  /** In the order of their positions. */
  events(): Promise<readonly StoredEvent[]> {
    return this.#withInstance(async ({ database }) => {
      const { names } = database;
      const rows = await database.all(
        sql`SELECT position, id, kind, collection, record, revision, created, body FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position`,
      );
      return rows.map((row) => {
        // The column is never null, and holds what webhooks.md describes.
        const body = Buffer.from(row['body'] as Uint8Array).toString('utf8');
        // As above.
        const { data } = JSON.parse(body) as { readonly data: Values };
        return {
          position: Number(row['position']),
          id: String(row['id']),
          kind: String(row['kind']),
          // There are no other collections.
          collection: String(row['collection']) as CollectionName,
          record: String(row['record']),
          revision: Number(row['revision']),
          at: Date.parse(String(row['created'])),
          values: toValues(data),
        };
      });
    });
  }

  deliveries(): Promise<readonly Told[]> {
    return this.#withInstance(async ({ database }) => {
      const { names } = database;
      const rows = await database.all(
        sql`
          SELECT e.id || '-' || p.id AS id, p.id AS endpoint, d.event, coalesce(o.status, 'pending') AS status
          FROM ${names.table('$delivery')} d
          JOIN ${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = d.event
          JOIN ${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = d.endpoint
          LEFT JOIN ${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint
          WHERE ${names.instance.conditionOf('d')}`,
      );
      return rows.map(({ id, endpoint, event, status }) => ({
        id: String(id),
        endpoint: String(endpoint),
        event: Number(event),
        status: String(status),
      }));
    });
  }

  async stop(): Promise<void> {
    for (const app of this.#apps) await app.stop();
    await this.listener.close();
    if (this.#database !== undefined) await (await openTestPostgres()).dropDatabase(this.#database);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const place = this.#database === undefined ? {} : { postgres: this.#database };
    const config = readConfig({ data: this.#folder, port: '0', dev: true, ...place }, environment);
    this.#apps.push(await startApp(config, { logger: logInto(this.log) }));
  }

  async #prepare(instance: Instance): Promise<void> {
    await upsertSuperuser(instance, superuser.email, superuser.password);
    this.token = await issueSuperuserToken(instance, superuser.email);
    const { database, collections, clock } = instance;
    for (const definition of definitions)
      await createCollection({ database, collections, now: clock.now() }, definition);
    const { policy } = readConfig({ dev: true }, {});
    const url = this.listener.url;
    const all = await createEndpoint(instance, { url }, policy);
    this.endpoints.push({ id: all.id, wants: () => true });
    const few = { url, collections: ['comments'], events: ['record.delete'] };
    const some = await createEndpoint(instance, few, policy);
    const wants = ({ collection, kind }: StoredEvent): boolean =>
      collection === 'comments' && kind === 'record.delete';
    this.endpoints.push({ id: some.id, wants });
  }

  async #withInstance<Result>(work: (instance: Instance) => Promise<Result>): Promise<Result> {
    const [app] = this.#apps;
    if (app === undefined) throw new Error('expected a node');
    return onSlug(app.data, 'default', work);
  }
}
