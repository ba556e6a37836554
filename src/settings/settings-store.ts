import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { fieldError, type FieldErrorCode } from '../fields/field-error.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import {
  defaultSettings,
  mapSecrets,
  type RateLimitRule,
  type Settings,
  settingsLimits,
} from './settings.ts';

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
      sql`SELECT value FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name = 'settings'`,
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
      INSERT INTO ${names.table('$instance_setting')} (${names.instance.column}name, value) VALUES (${names.instance.value}'settings', ${text})
      ON CONFLICT (${names.instance.column}name) DO UPDATE SET value = excluded.value`);
    tx.afterCommit(() => {
      this.#current = settings;
    });
  }
}

function placeOf(path: string): { readonly purpose: string; readonly id: string } {
  return { purpose: 'setting', id: path };
}

/**
 * Returns the current settings with `patch` merged over them: objects member by member, lists as a whole. Members that are
 * unknown (see `refuseUnknown`) or null change nothing. A value of the wrong type is left out and added to `problems`.
 */
export function mergeSettings(current: Settings, patch: JsonObject, problems: ProblemList): Settings {
  // The cast holds: merging keeps the type of every member.
  return mergeMembers({ ...current }, patch, problems) as unknown as Settings;
}

function mergeMembers(current: JsonObject, patch: JsonObject, problems: ProblemList): JsonObject {
  const merged = Object.entries(current).map(([name, value]) => {
    const newValue = ownMember(patch, name) ?? undefined;
    return [name, newValue === undefined ? value : mergeMember(value, newValue, { name, problems })];
  });
  // The cast holds: the names are those of `current`.
  return Object.fromEntries(merged) as JsonObject;
}

interface MemberContext {
  readonly name: string;
  readonly problems: ProblemList;
}

function mergeMember(value: unknown, newValue: unknown, { name, problems }: MemberContext): unknown {
  const refuse = (code: FieldErrorCode, params?: Readonly<Record<string, number>>): unknown => {
    problems.add(name, fieldError(code, params));
    return value;
  };
  if (isJsonObject(value)) {
    if (!isJsonObject(newValue)) return refuse('validation_unsupported_value_type');
    const inside = new ProblemList();
    const merged = mergeMembers(value, newValue, inside);
    problems.addAll(name, inside);
    return merged;
  }
  if (Array.isArray(value)) {
    if (!Array.isArray(newValue)) return refuse('validation_unsupported_value_type');
    const { listLengthMax } = settingsLimits;
    if (newValue.length > listLengthMax)
      return refuse('validation_length_too_long', { min: 0, max: listLengthMax });
    const inside = new ProblemList();
    const list = name === 'rules' ? readRules(newValue, inside) : readTexts(newValue, inside);
    problems.addAll(name, inside);
    return list;
  }
  if (typeof value !== typeof newValue) return refuse('validation_unsupported_value_type');
  if (typeof newValue === 'number' && !Number.isSafeInteger(newValue))
    return refuse('validation_only_int_constraint');
  const max = name === 'logo' ? settingsLimits.logoLengthMax : settingsLimits.textLengthMax;
  if (typeof newValue === 'string' && newValue.length > max)
    return refuse('validation_length_out_of_range', { min: 0, max });
  return newValue;
}

function readTexts(list: readonly unknown[], problems: ProblemList): readonly string[] {
  return list.flatMap((text, index) => {
    if (typeof text === 'string' && text.length <= settingsLimits.textLengthMax) return [text];
    problems.add(String(index), fieldError('validation_unsupported_value_type'));
    return [];
  });
}

export const blankRule: RateLimitRule = { label: '', audience: '', duration: 0, maxRequests: 0 };

function readRules(list: readonly unknown[], problems: ProblemList): readonly RateLimitRule[] {
  return list.map((raw, index) => {
    const inside = new ProblemList();
    if (!isJsonObject(raw)) problems.add(String(index), fieldError('validation_unsupported_value_type'));
    const merged = mergeMembers({ ...blankRule }, isJsonObject(raw) ? raw : {}, inside);
    problems.addAll(String(index), inside);
    // As in mergeSettings: every member has the type that it has in `blankRule`.
    return merged as unknown as RateLimitRule;
  });
}
