import { baseAlias } from '../collections/record-scope.ts';
import { sql } from '../sql/sql.ts';

/** The columns that identify the state of a record: no two records have the same position, and no two states of one the same revision. */
export const rowVersion = sql`${baseAlias}."$position", ${baseAlias}."$revision"`;
