import { type Caller, requireReach } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import { idAlphabet, randomText } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { queryProblem } from '../collections/decode-collection.ts';
import { inferView } from '../collections/infer-view.ts';
import { selectOfView } from '../collections/views.ts';
import { withViews } from '../definitions/view-descriptions.ts';
import { fieldToJson } from '../fields/field.ts';
import { scaffoldCollection } from '../definitions/list-collections.ts';
import type { Instance } from '../instances/instance.ts';
import { joinSql, limit, sql } from '../sql/sql.ts';
import { fromTuple, recordToJson } from './record.ts';

const sampleMax = 10;

/** Returns the fields that a view with this query would have, and its first records, as JSON. Throws bad_request, forbidden. */
export async function dryRunView(
  { database, collections, clock }: Instance,
  caller: Caller,
  { query }: Readonly<Record<string, unknown>>,
): Promise<string> {
  const problem = queryProblem(query);
  if (problem !== undefined || typeof query !== 'string')
    throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
      details: { query: problem ?? {} },
    });
  const { fields, view: options } = await withViews(database, (reader) => {
    const view = inferView(query, collections.all(), reader);
    const failure = typeof view === 'string' ? view : reader.idProblem(view.draft);
    if (typeof view === 'string' || failure !== undefined)
      throw new AppError('bad_request', `Invalid view query. Raw error: \n${failure ?? ''}.`);
    return Promise.resolve(view);
  });
  for (const id of options.reads) requireReach(caller, collections.get(id));
  const name = `temp_view_${randomText(5, idAlphabet)}`;
  const now = toTimestamp(clock.now());
  const view: Collection = {
    ...scaffoldCollection('view'),
    id: name,
    name,
    fields,
    view: options,
    created: now,
    updated: now,
  };
  const { names } = database;
  const columns = [sql`"$revision"`, ...view.fields.map((field) => names.column(field.name))];
  const rows = await database.searchDraft(
    sql`SELECT ${joinSql(columns, ', ')} FROM (${selectOfView(view, names)}) AS "$view"${limit(sampleMax)}`,
  );
  const sample = rows.map((row) => recordToJson(fromTuple(view, row), 'everything'));
  return `{"fields":[${view.fields.map(fieldToJson).join(',')}],"sample":[${sample.join(',')}]}`;
}
