import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import type { InstanceState } from '../../src/instances/instance-rows.ts';
import type { HeldSchemaJob } from '../../src/operator/schema-work.ts';
import { eventually } from './eventually.ts';
import { makeOperatorKey, operatorCaller } from './operator-stage.ts';
import { startService, type TestAnswer, type TestRequest, type TestService } from './service.ts';

/** A job as the API shows it. */
export interface ShownJob {
  readonly id: string;
  readonly state: string;
  readonly [member: string]: unknown;
}

/** What came of an instance, as the API shows it. */
export interface ShownResult {
  readonly instance: string;
  readonly slug: string;
  readonly state: string;
  readonly changes: readonly { readonly collection: string; readonly [member: string]: unknown }[];
  readonly error: { readonly status: number; readonly message: string; readonly data: object } | null;
  readonly ended: string;
}

export const text = (name: string): object => ({ name, type: 'text' });

/** What every instance is to have. */
export const target = [
  {
    name: 'posts',
    listRule: '',
    createRule: '',
    fields: [text('title'), text('body')],
    indexes: ['CREATE UNIQUE INDEX posts_title ON posts (title)'],
  },
  { name: 'tags', listRule: '', fields: [text('label')] },
];

/** What instances had before there was a newer definition. */
export const older = [{ name: 'posts', listRule: '', createRule: '', fields: [text('title')] }];

/** A service whose instances are brought to a definition. */
export class SchemaStage {
  readonly service: TestService;
  readonly call: ReturnType<typeof operatorCaller>;

  readonly #key: string;

  private constructor(service: TestService, key: string) {
    this.service = service;
    this.#key = key;
    this.call = operatorCaller(service, key);
  }

  static async open(t: TestContext, options: Parameters<typeof startService>[1] = {}): Promise<SchemaStage> {
    const service = await startService(t, options);
    const { key } = await makeOperatorKey(service);
    return new SchemaStage(service, key);
  }

  async make(slug: string, collections: readonly object[], labels: object = {}): Promise<string> {
    return (await this.call(201, 'POST /instances', { body: { slug, collections, labels } })).json.id;
  }

  /** An instance whose records do not allow the unique index of the target. */
  async makeConflicting(slug: string, labels: object = {}): Promise<void> {
    await this.make(slug, older, labels);
    for (const _ of [1, 2]) {
      const path = `/i/${slug}/api/collections/posts/records`;
      const answer = await this.service.request(path, { method: 'POST', body: { title: 'Equal' } });
      assert.equal(answer.status, 201, answer.text);
    }
  }

  async put(body: object, request: TestRequest = {}): Promise<ShownJob> {
    return (await this.call(202, 'PUT /schema', { body, ...request })).json;
  }

  /** Makes a request to the jobs that may be refused. */
  request(method: string, request: TestRequest): Promise<TestAnswer> {
    return this.service.request('/api/operator/schema', { method, token: this.#key, ...request });
  }

  async jobs(query: string): Promise<readonly ShownJob[]> {
    return (await this.call(200, `GET /schema?${query}`)).json.items;
  }

  async job(id: string): Promise<ShownJob> {
    return (await this.call(200, `GET /schema/${id}`)).json;
  }

  /** Returns a job once it is over. */
  async over(id: string): Promise<ShownJob> {
    let job: ShownJob | undefined;
    await eventually(
      'the job is over',
      async () => {
        job = await this.job(id);
        return !['waiting', 'running'].includes(job.state);
      },
      120_000,
    );
    assert.ok(job !== undefined);
    return job;
  }

  async apply(body: object): Promise<ShownJob> {
    return this.over((await this.put(body)).id);
  }

  async results(id: string, query = ''): Promise<readonly ShownResult[]> {
    return (await this.call(200, `GET /schema/${id}/results?perPage=1000${query}`)).json.items;
  }

  /** The states of the results by slug. */
  async states(id: string): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.results(id)).map(({ slug, state }) => [slug, state]));
  }

  /** The stored definitions of an instance, its records, and what its audit log has. */
  async stored(slug: string): Promise<unknown> {
    return this.service.withInstance(slug, async (instance) => {
      // Another thread may have changed them.
      await instance.refresh();
      const { collections, database } = instance;
      const { names } = database;
      const rowsOf = (table: Sql): Promise<unknown> =>
        database.all(sql`SELECT * FROM ${table} WHERE ${names.instance.condition} ORDER BY position`);
      const own = collections.all().filter(({ system }) => !system);
      return {
        definitions: await rowsOf(names.table('$collection')),
        audit: await rowsOf(names.table('$audit')),
        records: await Promise.all(
          own.map(({ name }) => database.all(sql`SELECT * FROM ${names.collectionTable(name)} ORDER BY id`)),
        ),
      };
    });
  }

  async setState(slug: string, state: InstanceState): Promise<void> {
    const { control } = this.service.app.data.home;
    await control.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$instance')} SET state = ${state} WHERE slug = ${slug}`),
    );
  }

  /** Keeps the service from taking up a job until the returned function is called. */
  async hold(): Promise<() => Promise<void>> {
    const { control } = this.service.app.data.home;
    await holdSchemaJobs(control);
    return async () => {
      await control.write((tx) =>
        tx.run(sql`DELETE FROM ${tx.names.table('$schema_job')} WHERE id = ${holderElsewhere}`),
      );
    };
  }

  /** Puts a job that waits into the hands of a holder, in place of that which {@link hold} has made. */
  async holdJob(id: string, holder: string): Promise<HeldSchemaJob> {
    const { control } = this.service.app.data.home;
    const jobs = control.names.table('$schema_job');
    await control.write(async (tx) => {
      await tx.run(sql`DELETE FROM ${jobs} WHERE id = ${holderElsewhere}`);
      await tx.run(
        sql`UPDATE ${jobs} SET state = 'running', holder = ${holder}, held_until = ${farMs} WHERE id = ${id}`,
      );
    });
    return { id, holder, collections: '[]', address: '', dryRun: false, deleteMissing: false, stopAfter: 0 };
  }

  /** Ends the lease of a job, as 30 seconds do after its holder has ended. */
  async endLease(id: string): Promise<void> {
    const { control } = this.service.app.data.home;
    await control.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$schema_job')} SET held_until = 0 WHERE id = ${id}`),
    );
  }
}

/** Later than any test ends. */
export const farMs = Date.UTC(2200, 0, 1);

const holderElsewhere = 'elsewhere';

/** Adds a job that seems to run in another process: as long as it is there, no other is taken up. */
export async function holdSchemaJobs(control: Database): Promise<void> {
  await control.write((tx) =>
    tx.run(sql`
      INSERT INTO ${tx.names.table('$schema_job')} (id, state, holder, held_until, is_dry_run, delete_missing, stop_after, is_cancelled,
        collections, address, created, started, ended, total)
      VALUES (${holderElsewhere}, 'running', ${holderElsewhere}, ${farMs}, 0, 0, 0, 0, '[]', '', '', '', '', 0)`),
  );
}
