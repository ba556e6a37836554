import { notFound } from '../base/errors.ts';
import type { Collection } from '../collections/collection.ts';
import { baseAlias } from '../query/record-scope.ts';
import type { FilterTree } from '../filters/parse.ts';
import type { Instance } from '../instances/instance.ts';
import { answerKey, AnswerCache, isCacheable } from './answer-cache.ts';
import { rowJson, type RowKind, RowText } from '../query/row-cache.ts';
import type { RuleInput } from '../access/rule-input.ts';
import { admit } from '../access/rule.ts';
import { runBatch, sql, type Sql, withValues } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { findAllowed } from './find-record.ts';
import { presentRecords } from './present-records.ts';
import { readStatements, recordJson, rowVersion } from './record-table.ts';
import { ruleCondition, scopeContext } from './check-rule.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';

interface RecordRequest {
  readonly collection: string;
  readonly id: string;
}

/** The records that this process remembers: 1 MB per generation, if they are ASCII, beside what `rowJson` holds. */
const knownRecords = new AnswerCache<RowText | undefined>({
  lengthMax: 1024 * 1024,
  lengthOf: (row) => row?.text.length ?? 0,
});

/**
 * Returns one record's JSON as the caller may see it, with what is to be expanded. Throws not_found (collection; a record that
 * does not exist or that the caller may not see), forbidden (null rule).
 */
export function readRecord(
  instance: Instance,
  facts: RuleInput,
  { collection: name, id }: RecordRequest,
): Promise<RowText> {
  return readCurrentCollection(instance, name, async (collection) => {
    const rule = admit(collection, 'viewRule', facts.caller);
    const withHidden = facts.caller.kind === 'superuser';
    const json = facts.query.get('expand')
      ? undefined
      : recordJson(collection, instance.database.names, { withHidden });
    const asked = { collection, id, rule };
    const read =
      json === undefined
        ? await present(instance, facts, asked)
        : await recallText(instance, facts, { ...asked, json });
    if (read === undefined) throw notFound();
    return read;
  });
}

interface AskedRecord {
  readonly collection: Collection;
  readonly id: string;
  readonly rule: FilterTree | undefined;
}

async function present(
  instance: Instance,
  facts: RuleInput,
  { collection, id, rule }: AskedRecord,
): Promise<RowText | undefined> {
  const context = scopeContext(instance, facts);
  const record = await findAllowed(instance.database, { collection, id }, { rule, context });
  if (record === undefined) return undefined;
  const [text = ''] = await presentRecords({ instance, facts }, [record]);
  return new RowText(record.revision, text);
}

function recallText(
  instance: Instance,
  facts: RuleInput,
  asked: AskedRecord & { readonly json: Sql },
): Promise<RowText | undefined> {
  const { json, rule, id } = asked;
  const { collections, database } = instance;
  const key = answerKey(json, { collections, caller: rule && facts.caller }, [id]);
  return knownRecords.getOrRun({ database, asOfMs: facts.asOfMs }, key, async () => {
    const answer = await readText(instance, facts, asked);
    return { answer, isCacheable: answer !== undefined && isCacheable({ filter: rule, within: 'state' }) };
  });
}

/** Returns the text as the engine writes it, or as it was written before if the record still has that revision. */
async function readText(
  instance: Instance,
  facts: RuleInput,
  asked: AskedRecord & { readonly json: Sql },
): Promise<RowText | undefined> {
  const statements = statementsOf(asked.collection, asked.json, instance);
  if (rowJson.isFilled(statements.rows)) {
    const versions = await ask(instance, facts, { ...asked, statement: statements.version });
    const known = rowJson.find(statements.rows, versions);
    if (known !== undefined) return known[0];
  }
  const rows = await ask(instance, facts, { ...asked, statement: statements.text });
  return rowJson.keep(statements.rows, rows)[0];
}

function ask(
  instance: Instance,
  facts: RuleInput,
  { collection, id, rule, statement }: AskedRecord & { readonly statement: Sql },
): Promise<Tuple[]> {
  const { database } = instance;
  const one = withValues(statement, [id]);
  if (rule === undefined) return database.tuples(one);
  const condition = ruleCondition(scopeContext(instance, facts), collection, rule);
  return database.search(sql`${one} AND ${condition}`);
}

/** Statements whose only value is the id of a record; `AND` conditions may follow. */
interface ViewStatements {
  /** Selects position and revision. */
  readonly version: Sql;
  /** Selects position, revision and the JSON. */
  readonly text: Sql;
  readonly rows: RowKind;
}

/** Statements by the SQL that writes the JSON, which belongs to one definition. */
const made = new WeakMap<Sql, ViewStatements>();

function statementsOf(collection: Collection, json: Sql, { database }: Instance): ViewStatements {
  const known = made.get(json);
  if (known !== undefined) return known;
  const { from } = readStatements(collection, database.names);
  const where = sql`FROM ${from} WHERE ${baseAlias}.id = ${null}`;
  const statements = {
    version: runBatch(sql`SELECT ${rowVersion} ${where}`, 'lookup'),
    text: runBatch(sql`SELECT ${rowVersion}, ${json} AS "$json" ${where}`, 'lookup'),
    rows: { kind: json, asker: {} },
  };
  made.set(json, statements);
  return statements;
}
