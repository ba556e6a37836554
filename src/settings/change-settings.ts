import type { JsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/problem-list.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { checkSettings } from './check-settings.ts';
import { isInRanges } from './is-in-ranges.ts';
import { mergeSettings } from './merge-settings.ts';
import { refuseUnknown } from './refuse-unknown.ts';
import type { Settings } from './settings.ts';
import type { SettingsStore } from './settings-store.ts';

export interface SettingsChange {
  readonly database: Database;
  readonly settings: SettingsStore;
  /** Runs inside the transaction of the change. May await nothing but `tx`. */
  readonly onChange: (tx: Transaction, before: Settings, after: Settings) => Promise<void>;
}

/**
 * Merges the given members over the stored settings, whichever node stored them. Throws bad_request with each problem at its place,
 * and then changes nothing. `from` returns the caller's address under the new settings: no superuser may shut themselves out.
 */
export function changeSettings(
  { database, settings, onChange }: SettingsChange,
  given: JsonObject,
  from: (changed: Settings) => Uint8Array,
): Promise<Settings> {
  return database.write(
    async (tx) => {
      const problems = new ProblemList();
      const before = await settings.read(tx);
      refuseUnknown(given, problems);
      const changed = mergeSettings(before, given, problems);
      // Members of the wrong type were left out, so the whole can be checked only when there are none.
      if (problems.isEmpty) checkSettings(changed, problems);
      const { superuserIPs } = changed;
      if (problems.isEmpty && superuserIPs.length > 0 && !isInRanges(from(changed), superuserIPs))
        problems.add('superuserIPs', {
          code: 'validation_in_invalid',
          message: 'Must include your own address.',
        });
      problems.throwIfAny('An error occurred while saving the new settings.');
      await settings.save(tx, changed);
      await onChange(tx, before, changed);
      return changed;
    },
    // Other nodes reload settings only after commits of exclusive writes.
    { isExclusive: true },
  );
}
