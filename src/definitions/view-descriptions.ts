import { AppError } from '../base/errors.ts';
import type { ViewReader } from '../collections/infer-view.ts';
import { sql, viewSelect } from '../sql/sql.ts';
import { isMissingName, OutdatedDefinitions, QueryTimeout } from '../storage/engine-errors.ts';
import type { ViewDescription, ViewDraft, ViewQueries } from '../storage/view-query.ts';

/** A query that was not read yet. It is read outside of the work, which awaits nothing but its transaction. */
class UnreadQuery extends Error {
  readonly draft: ViewDraft;
  readonly part: 'columns' | 'ids';

  constructor(draft: ViewDraft, part: UnreadQuery['part']) {
    super('The query of a view was not read yet.');
    this.draft = draft;
    this.part = part;
  }
}

/**
 * Runs a work that decodes definitions, and again each time when it meets a query of a view that was not read yet. What a query returns
 * depends on nothing but the query and the fields of the collections that it names, so it need not be read in the work's transaction.
 */
export async function withViews<Result>(
  database: ViewQueries,
  work: (views: ViewReader) => Promise<Result>,
): Promise<Result> {
  const descriptions = new Map<string, ViewDescription>();
  const idProblems = new Map<string, string | undefined>();
  const views: ViewReader = {
    describe: (draft) => {
      const description = descriptions.get(JSON.stringify(draft));
      if (description === undefined) throw new UnreadQuery(draft, 'columns');
      return description;
    },
    idProblem: (draft) => {
      const key = JSON.stringify(draft);
      if (!idProblems.has(key)) throw new UnreadQuery(draft, 'ids');
      return idProblems.get(key);
    },
  };
  for (;;)
    try {
      return await work(views);
    } catch (error) {
      if (!(error instanceof UnreadQuery)) throw error;
      const { draft, part } = error;
      const key = JSON.stringify(draft);
      if (part === 'columns') descriptions.set(key, await database.describeView(draft));
      else idProblems.set(key, await readIdProblem(database, draft));
    }
}

/** How many rows are looked at for ids that are missing or not unique. */
const checkedRows = 1_000;

async function readIdProblem(database: ViewQueries, draft: ViewDraft): Promise<string | undefined> {
  const query = viewSelect(draft.query);
  const ids = sql`SELECT CAST(id AS TEXT) AS id FROM (${query}) AS "$query" LIMIT ${checkedRows}`;
  try {
    const [row] = await database.searchDraft(
      sql`SELECT count(*), count(DISTINCT id), count(nullif(id, '')) FROM (${ids}) AS "$ids"`,
    );
    const [all, different, filled] = (row ?? []).map(Number);
    if (filled !== all) return 'the query could return records with empty or invalid ids';
    return different === all ? undefined : 'the query could return records with non-unique ids';
  } catch (error) {
    // A collection that is made or changed by the same import.
    if (isMissingName(error) || error instanceof OutdatedDefinitions) return undefined;
    if (error instanceof QueryTimeout) return 'the query took too long';
    if (error instanceof AppError && error.code === 'bad_request') return error.message.replace(/\.$/, '');
    throw error;
  }
}
