import { type Caller, reachedEndpoints } from '../../access/caller.ts';
import type { Operand } from '../../filters/operand.ts';
import { parameterError } from '../../query/list-parameters.ts';
import type { ListQuery } from '../../query/list-query.ts';
import { column } from '../../query/list-source.ts';
import type { Sql } from '../../sql/sql.ts';
import type { Names } from '../../storage/database.ts';

interface BodySearch {
  readonly query: Pick<ListQuery, 'sort'>;
  readonly caller: Caller;
}

/**
 * Returns the JSON text of the body of an event as `body`, a name for the filters of lists of the log. Not for keys that are bound to endpoints and
 * accounts, as these receive parts of it. Throws bad_request for a sort by it.
 */
export function searchedBody(
  names: Names,
  body: Sql,
  { query, caller }: BodySearch,
): Readonly<Record<string, Operand>> {
  if (reachedEndpoints(caller) !== null) return {};
  if (query.sort.some(({ name }) => name === 'body'))
    throw parameterError('sort', 'The log can be searched by the body, not sorted.');
  return { body: column('text', names.textOfBytes(body)) };
}
