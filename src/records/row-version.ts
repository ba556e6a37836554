import { baseAlias } from '../collections/record-scope.ts';
import { sql } from '../sql/sql.ts';

/** The columns that tell what a record is now: no two have the same position, and no two states of one the same revision. */
export const rowVersion = sql`${baseAlias}."$position", ${baseAlias}."$revision"`;
