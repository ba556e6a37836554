import { notFound } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { admit } from '../access/rule.ts';
import { sql, withValues } from '../sql/sql.ts';
import { findAllowed } from './find-record.ts';
import { presentRecords } from './present-records.ts';
import { type RecordJson, recordTable } from './record-table.ts';
import { ruleCondition, scopeContext } from './check-rule.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';

/** A record as its caller may see it. */
export interface RecordText {
  readonly revision: number;
  readonly json: string;
}

interface RecordRequest {
  readonly collection: string;
  readonly id: string;
}

/**
 * Returns one record's JSON as the caller may see it, with what is to be expanded. Throws not_found (collection; a record that
 * does not exist or that the caller may not see), forbidden (null rule).
 */
export function readRecord(
  instance: Instance,
  facts: RuleInput,
  { collection: name, id }: RecordRequest,
): Promise<RecordText> {
  return readCurrentCollection(instance, name, async (collection) => {
    const rule = admit(collection, 'viewRule', facts.caller);
    const withHidden = facts.caller.kind === 'superuser';
    const json = facts.query.get('expand')
      ? undefined
      : recordTable(collection).json(instance.database.names, { withHidden });
    const asked = { collection, id, rule };
    const read =
      json === undefined
        ? await present(instance, facts, asked)
        : await readJson(instance, facts, { ...asked, json });
    if (read === undefined) throw notFound();
    return read;
  });
}

interface ReadRequest {
  readonly collection: Collection;
  readonly id: string;
  readonly rule: FilterTree | undefined;
}

async function present(
  instance: Instance,
  facts: RuleInput,
  { collection, id, rule }: ReadRequest,
): Promise<RecordText | undefined> {
  const context = scopeContext(instance, facts);
  const record = await findAllowed(instance.database, { collection, id }, { rule, context });
  if (record === undefined) return undefined;
  const [json = ''] = await presentRecords({ instance, facts }, [record]);
  return { revision: record.revision, json };
}

/** Reads the JSON as the engine writes it. */
async function readJson(
  instance: Instance,
  facts: RuleInput,
  { collection, id, rule, json }: ReadRequest & { readonly json: RecordJson },
): Promise<RecordText | undefined> {
  const { database } = instance;
  const one = withValues(json.selectById, [id]);
  const [row] =
    rule === undefined
      ? await database.tuples(one)
      : await database.search(
          sql`${one} AND ${ruleCondition(scopeContext(instance, facts), collection, rule)}`,
        );
  return row && { revision: Number(row[0]), json: String(row[1]) };
}
