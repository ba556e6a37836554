import { systemClock } from '../../base/clock.ts';
import { newTimeOrderedId } from '../../base/ids.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Engine, Reader, Row } from '../database.ts';
import type { Migration, MigrationNotice } from '../migrate.ts';
import { rewriteTexts } from './old-filter-texts.ts';

/**
 * Rewrites the texts in stored rules, in filters of endpoints and in those of running replays and backfills so that they mean what they
 * meant when they were stored, and notes that all of them are to be looked through for texts that are no times. Where one has changed, older versions would misread it, so the step admits them only where none has.
 */
export const storedFilters: Migration = {
  name: 'texts in stored filters',
  // What has no collections yet has no filters to look through.
  statements: (engine) => [engine === 'sqlite' ? noteOnSqlite : noteOnPostgres],
  change: async (tx) => {
    const changes = await findChanges(tx);
    for (const { update, audited } of changes) {
      await tx.run(update);
      for (const one of audited) await tx.run(auditEntry(tx.names.engine, one));
    }
    return changes.flatMap(({ audited }) => audited.map(toNotice));
  },
  admits: async (reader) => ((await findChanges(reader)).length === 0 ? 1 : undefined),
};

/** Read and removed when an instance is opened. */
const noteOnSqlite = sql`INSERT INTO "$instance_setting" (name, value)
  SELECT 'unreadable_times', '' WHERE EXISTS (SELECT 1 FROM "$collection") ON CONFLICT DO NOTHING`;
const noteOnPostgres = sql`INSERT INTO chancery.instance_setting (instance_id, name, value)
  SELECT id, 'unreadable_times', '' FROM chancery.instance ON CONFLICT DO NOTHING`;

/** A row whose filters change. */
interface Change {
  readonly update: Sql;
  readonly audited: readonly ChangedFilter[];
}

interface ChangedFilter {
  readonly instance: string;
  readonly collection: string;
  /** Id of the endpoint, replay or backfill; empty for a rule. */
  readonly target: string;
  /** `listRule`, `mfa.rule` or `filter`. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly isReadable: boolean;
}

async function findChanges(reader: Reader): Promise<readonly Change[]> {
  const { engine } = reader.names;
  const changes: Change[] = [];
  for (const { table, column, condition } of places) {
    // No filter without a backslash means anything else today.
    const rows = await reader.all(
      sql`SELECT * FROM ${table(engine)} WHERE ${condition} AND replace(${column}, ${'\\'}, '') <> ${column}`,
    );
    for (const row of rows) changes.push(...changeOf(row, { table: table(engine), column, engine }));
  }
  return changes;
}

const places = [
  { table: tableOf('collection'), column: sql`definition`, condition: sql`1 = 1` },
  { table: tableOf('endpoint'), column: sql`filter`, condition: sql`1 = 1` },
  { table: tableOf('replay'), column: sql`filter`, condition: sql`state = 'running'` },
] as const;

function tableOf(name: 'collection' | 'endpoint' | 'replay'): (engine: Engine) => Sql {
  const tables = {
    collection: [sql`"$collection"`, sql`chancery.collection`],
    endpoint: [sql`"$endpoint"`, sql`chancery.endpoint`],
    replay: [sql`"$replay"`, sql`chancery.replay`],
  } as const;
  return (engine) => tables[name][engine === 'sqlite' ? 0 : 1];
}

function changeOf(
  row: Row,
  { table, column, engine }: { readonly table: Sql; readonly column: Sql; readonly engine: Engine },
): readonly Change[] {
  const id = String(row['id']);
  const instance = engine === 'sqlite' ? '' : String(row['instance_id']);
  const isRule = row['definition'] !== undefined;
  const common = { instance, collection: isRule ? id : '', target: isRule ? '' : id };
  const audited: ChangedFilter[] = [];
  const rewrite = (name: string, before: unknown): unknown => {
    if (typeof before !== 'string') return before;
    const rewritten = rewriteTexts(before);
    // No filter begins like this, so it goes on to deny, whatever it would mean today.
    const after = rewritten ?? `(unreadable) ${before}`;
    if (after !== before)
      audited.push({ ...common, name, before, after, isReadable: rewritten !== undefined });
    return after;
  };
  const after = isRule
    ? JSON.stringify(rewriteRules(JSON.parse(String(row['definition'])), rewrite))
    : String(rewrite('filter', row['filter']));
  if (audited.length === 0) return [];
  const isInstance = engine === 'sqlite' ? sql`` : sql` AND instance_id = ${instance}`;
  return [{ update: sql`UPDATE ${table} SET ${column} = ${after} WHERE id = ${id}${isInstance}`, audited }];
}

type Rewrite = (name: string, before: unknown) => unknown;

function rewriteRules(definition: unknown, rewrite: Rewrite): unknown {
  if (!isJsonObject(definition)) return definition;
  const { rules, auth } = definition;
  return {
    ...definition,
    rules: isJsonObject(rules) ? rewriteMembers(rules, rewrite) : rules,
    ...(isJsonObject(auth) && { auth: rewriteAuth(auth, rewrite) }),
  };
}

function rewriteMembers(rules: JsonObject, rewrite: Rewrite): JsonObject {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, rewrite(name, rule)]));
}

function rewriteAuth(auth: JsonObject, rewrite: Rewrite): JsonObject {
  const { authRule, manageRule, mfa } = auth;
  return {
    ...auth,
    ...(authRule !== undefined && { authRule: rewrite('authRule', authRule) }),
    ...(manageRule !== undefined && { manageRule: rewrite('manageRule', manageRule) }),
    ...(isJsonObject(mfa) && { mfa: { ...mfa, rule: rewrite('mfa.rule', mfa['rule']) } }),
  };
}

function auditEntry(engine: Engine, changed: ChangedFilter): Sql {
  const { instance, collection, target, name, before, after, isReadable } = changed;
  const now = systemClock.now();
  const [id, created] = [newTimeOrderedId(now), toTimestamp(now)];
  const details = JSON.stringify({ name, before, after });
  const outcome = isReadable ? 'done' : 'refused';
  const values = sql`${id}, 0, ${created}, ${created}, 1, 'filter.rewrite', ${outcome}, 'operator', '', '', '', ${collection}, ${target}, ${details}`;
  const columns = sql`id, tallied, created, until, count, action, outcome, actor, actor_id, address, request, collection, target, details`;
  return engine === 'sqlite'
    ? sql`INSERT INTO "$audit" (${columns}) VALUES (${values})`
    : sql`INSERT INTO chancery.audit (instance_id, ${columns}) VALUES (${instance}, ${values})`;
}

function toNotice({
  instance,
  collection,
  target,
  name,
  before,
  after,
  isReadable,
}: ChangedFilter): MigrationNotice {
  return {
    message: isReadable
      ? 'A stored filter was rewritten: it means what it meant before the upgrade.'
      : 'A stored filter is invalid and now denies everyone: replace it.',
    members: {
      ...(instance !== '' && { instance }),
      ...(collection !== '' && { collection }),
      ...(target !== '' && { target }),
      name,
      before,
      after,
    },
  };
}
