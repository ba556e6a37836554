import { isJsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/problem-list.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { mergeSettings } from './merge-settings.ts';
import { defaultSettings, mapSecrets, type Settings } from './settings.ts';

/**
 * One instance's settings, kept in memory because every request needs them. They change only after the commit of a change. Changes
 * by other processes are read together with the collections'. Members that were never set have their defaults.
 */
export class SettingsStore {
  readonly #sealer: Sealer;
  #current: Settings = defaultSettings;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The settings in force. The object is immutable: a change replaces it. */
  get current(): Settings {
    return this.#current;
  }

  async reload(reader: Reader): Promise<void> {
    this.remember(await this.read(reader));
  }

  /** Puts settings that were read from the database into force. */
  remember(settings: Settings): void {
    this.#current = settings;
  }

  /** Reads the settings from the database. */
  async read(reader: Reader): Promise<Settings> {
    const { names } = reader;
    const row = await reader.get(
      sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.scope} AND name = 'settings'`,
    );
    const stored: unknown = row === undefined ? undefined : JSON.parse(String(row['value']));
    if (!isJsonObject(stored)) return defaultSettings;
    const opened = mapSecrets(stored, (sealed, path) => this.#sealer.open(sealed, placeOf(path)));
    // Problems are ignored: settings of an older version lack members, and those of a newer one may have unknown ones.
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
