import { useQueryClient } from '@tanstack/react-query';
import { backupsKey } from '../../api/backups.ts';
import { call } from '../../api/client.ts';
import { type Settings, settingsQuery } from '../../api/settings.ts';
import type { SectionName } from './sections.ts';
import { type Draft, useDraft } from './use-draft.ts';

/** A draft of the settings of the instance that a section shows. */
export function useSettingsDraft(section: SectionName, settings: Settings): Draft {
  const queries = useQueryClient();
  // A copy of plain members: an interface does not say that it has no others.
  const values = { ...settings };
  return useDraft({
    name: section,
    values,
    save: async (body) => {
      queries.setQueryData(settingsQuery.queryKey, await call('PATCH /api/settings', { body }));
      // They decide where backups are and when the next one is due.
      await queries.invalidateQueries({ queryKey: backupsKey });
    },
  });
}
