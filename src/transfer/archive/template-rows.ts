import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { mapSecrets } from '../../settings/settings.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Tuple } from '../../storage/database.ts';
import type { InternalTable } from '../../storage/internal-table.ts';

/** The rows of internal tables that an archive has which is a template. Of collections it has the tables without records. */
const conditions: Partial<Readonly<Record<InternalTable, Sql>>> = {
  $collection: sql`TRUE`,
  $instance_setting: sql`name = 'settings'`,
};

/** Returns what the rows of a table meet that are in a template; undefined for a table that is not. */
export function templateCondition(table: InternalTable): Sql | undefined {
  return conditions[table];
}

/**
 * Returns a row of a table as a template has it: of settings without their secrets, and what needs one is switched off; of collections without
 * sign-in providers, which are nothing without the secrets of their clients.
 */
export function templateRow(table: InternalTable, row: Tuple): Tuple {
  if (table === '$collection')
    return row.map((value) =>
      typeof value === 'string' && value.startsWith('{') ? withoutProviders(value) : value,
    );
  if (table !== '$instance_setting') return row;
  return row.map((value, at) => (at === 0 ? value : withoutSecrets(String(value))));
}

/** Takes the text of a definition. */
function withoutProviders(text: string): string {
  const definition: unknown = JSON.parse(text);
  const auth = isJsonObject(definition) ? definition['auth'] : undefined;
  const oauth2 = isJsonObject(auth) ? auth['oauth2'] : undefined;
  if (!isJsonObject(definition) || !isJsonObject(auth) || !isJsonObject(oauth2)) return text;
  return JSON.stringify({ ...definition, auth: { ...auth, oauth2: { ...oauth2, providers: [] } } });
}

/** Whoever makes an instance of it has other accounts for mails and buckets. */
function withoutSecrets(text: string): string {
  const settings: unknown = JSON.parse(text);
  return isJsonObject(settings) ? JSON.stringify(switchedOff(settings)) : text;
}

function switchedOff(group: JsonObject): JsonObject {
  const own = Object.entries(group).filter(([, value]) => typeof value === 'string');
  const bare = mapSecrets(Object.fromEntries(own), () => '');
  const needsSecret = own.some(([name, value]) => bare[name] !== value);
  const members = Object.entries(group).map(([name, value]) => {
    if (isJsonObject(value)) return [name, switchedOff(value)];
    if (name === 'enabled' && needsSecret) return [name, false];
    return [name, name in bare ? bare[name] : value];
  });
  // The cast holds: the names are those of `group`.
  return Object.fromEntries(members) as JsonObject;
}
