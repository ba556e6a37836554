import { AppError } from '../base/errors.ts';
import type { Timestamp } from '../base/timestamp.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { SchemaChangeView, SchemaError } from './apply-schema.ts';
import type { OperatorControl } from './operator-control.ts';
import { getSchemaJob, readSchemaJobs, type SchemaJob, type SchemaResultState } from './schema-jobs.ts';

const resolveOfJob = columnResolver({
  id: column('text', sql`id`),
  state: column('text', sql`state`),
  dryRun: column('bool', sql`is_dry_run`),
  created: column('date', sql`created`),
  started: column('date', sql`started`),
  ended: column('date', sql`ended`),
  total: column('number', sql`total`),
});

/** Returns a page of jobs, the oldest first. Throws bad_request (filter, sort). */
export async function listSchemaJobs(
  operator: OperatorControl,
  query: ListQuery,
): Promise<ListResult<SchemaJob>> {
  const { database } = operator;
  const page = await runList(database, query, {
    ...sourceOf(operator),
    columns: sql`id`,
    from: database.names.table('$schema_job'),
    resolve: resolveOfJob,
  });
  const ids = page.items.map(([id]) => String(id));
  const byId = new Map((await readSchemaJobs(database, ids)).map((job) => [job.id, job]));
  return { ...page, items: ids.flatMap((id) => byId.get(id) ?? []) };
}

/** What came of an instance of a job. */
export interface SchemaResult {
  readonly instance: string;
  /** That it had when the job was created. */
  readonly slug: string;
  readonly state: SchemaResultState;
  readonly changes: readonly SchemaChangeView[];
  readonly error: AppError | null;
  /** Empty before it ends. */
  readonly ended: Timestamp;
}

const resolveOfResult = columnResolver({
  instance: column('text', sql`instance`),
  slug: column('text', sql`slug`),
  state: column('text', sql`state`),
  ended: column('date', sql`ended`),
});

/** Returns a page of the results of a job, in the order in which its instances were made. Throws bad_request (filter, sort), not_found. */
export async function listSchemaResults(
  operator: OperatorControl,
  id: string,
  query: ListQuery,
): Promise<ListResult<SchemaResult>> {
  const { database } = operator;
  const job = await getSchemaJob(database, id);
  const page = await runList(database, query, {
    ...sourceOf(operator),
    columns: sql`instance, slug, state, changes, error, ended`,
    from: database.names.table('$schema_result'),
    where: sql`job = ${job.id}`,
    resolve: resolveOfResult,
  });
  const items = page.items.map(([instance, slug, state, changes, error, ended]) => ({
    instance: String(instance),
    slug: String(slug),
    // Only schema-jobs.ts and schema-work.ts write the table.
    state: state as SchemaResultState,
    // apply-schema.ts has made the texts, as those of errors.
    changes: (changes === '' ? [] : JSON.parse(String(changes))) as readonly SchemaChangeView[],
    error: error === '' ? null : toError(String(error)),
    ended: String(ended),
  }));
  return { ...page, items };
}

function toError(json: string): AppError {
  // Written by apply-schema.ts or schema-jobs.ts.
  const { code, message, details } = JSON.parse(json) as SchemaError;
  return new AppError(code, message, { details });
}

function sourceOf({ database, clock }: OperatorControl): Omit<ListSource, 'columns' | 'from' | 'resolve'> {
  const { names } = database;
  const position = column('number', sql`position`);
  const isInTime = names.isInTime(position.sql, 'for every row');
  return {
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    dialect: names.dialect,
    now: clock.now(),
  };
}
