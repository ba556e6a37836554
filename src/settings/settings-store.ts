import { isJsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/problem-list.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { mergeSettings } from './merge-settings.ts';
import { defaultSettings, mapSecrets, type Settings } from './settings.ts';

/**
 * One instance's settings, in memory: every request asks for them. The memory changes only after the commit of a change; a
 * change by another process is read with the collections'. What was not decided yet is as the defaults have it.
 */
export class SettingsStore {
  readonly #sealer: Sealer;
  #current: Settings = defaultSettings;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** Another object with each change, and never changed itself. */
  get current(): Settings {
    return this.#current;
  }

  async reload(reader: Reader): Promise<void> {
    this.remember(await this.read(reader));
  }

  /** What was read, from now on in force. */
  remember(settings: Settings): void {
    this.#current = settings;
  }

  /** As the database has them. */
  async read(reader: Reader): Promise<Settings> {
    const { names } = reader;
    const row = await reader.get(
      sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.scope} AND name = 'settings'`,
    );
    const stored: unknown = row === undefined ? undefined : JSON.parse(String(row['value']));
    if (!isJsonObject(stored)) return defaultSettings;
    const opened = mapSecrets(stored, (sealed, path) => this.#sealer.open(sealed, placeOf(path)));
    // What an older version has written lacks members, and what a newer one has written may have others: neither is a problem.
    return mergeSettings(defaultSettings, opened, new ProblemList());
  }

  async save(tx: Transaction, settings: Settings): Promise<void> {
    const { names } = tx;
    const text = JSON.stringify(
      mapSecrets(settings, (secret, path) => this.#sealer.seal(secret, placeOf(path))),
    );
    await tx.run(sql`
      INSERT INTO ${names.table('$instance_setting')} (${names.scopeColumn}name, value) VALUES (${names.scopeValue}'settings', ${text})
      ON CONFLICT (${names.scopeColumn}name) DO UPDATE SET value = excluded.value`);
    tx.afterCommit(() => {
      this.#current = settings;
    });
  }
}

function placeOf(path: string): { readonly purpose: string; readonly id: string } {
  return { purpose: 'setting', id: path };
}
