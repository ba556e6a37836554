import { notFound } from '../base/errors.ts';
import { type BoundRule, statementOf } from '../query/rule-plan.ts';
import type { Instance } from '../instances/instance.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { withValues } from '../sql/sql.ts';
import { findAllowed } from './find-record.ts';
import { presentRecords } from './present-records.ts';
import { type RecordJson, recordTable } from './record-table.ts';
import { admission, type RuleRequest } from './check-rule.ts';
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
 * Returns one record's JSON as the caller may see it, with the relations of `expand`. Throws not_found (collection; a record that
 * does not exist or that the caller may not see), forbidden (null rule).
 */
export function readRecord(
  instance: Instance,
  input: RuleInput,
  { collection: name, id }: RecordRequest,
): Promise<RecordText> {
  return readCurrentCollection(instance, name, async (collection) => {
    const rule = admission({ instance, input }, collection, 'viewRule');
    const withHidden = input.caller.kind === 'superuser';
    const json = input.query.get('expand')
      ? undefined
      : recordTable(collection).json(instance.database.names, { withHidden });
    const read =
      json === undefined
        ? await present({ instance, input }, rule, id)
        : await readJson(instance, rule, { id, json });
    if (read === undefined) throw notFound();
    return read;
  });
}

async function present(request: RuleRequest, rule: BoundRule, id: string): Promise<RecordText | undefined> {
  const record = await findAllowed(request.instance.database, rule, id);
  if (record === undefined) return undefined;
  const [json = ''] = await presentRecords(request, [record]);
  return { revision: record.revision, json };
}

/** Reads the JSON as the engine writes it. */
async function readJson(
  { database }: Instance,
  rule: BoundRule,
  { id, json }: { readonly id: string; readonly json: RecordJson },
): Promise<RecordText | undefined> {
  const { selectById } = json;
  const { constant } = rule.plan;
  if (constant === false) return undefined;
  const [row] = constant
    ? await database.tuples(withValues(selectById, [id]))
    : await database.search(statementOf(rule, { form: 'json', make: () => selectById, values: [id] }));
  return row && { revision: Number(row[0]), json: String(row[1]) };
}
