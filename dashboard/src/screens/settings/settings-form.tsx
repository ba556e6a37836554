import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { backupsKey } from '../../api/backups.ts';
import { call } from '../../api/client.ts';
import { type Settings, settingsQuery } from '../../api/settings.ts';
import type { Part } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { type Form, useForm } from '../../parts/form/use-form.ts';
import { showToast } from '../../parts/toast.tsx';
import type { SectionName } from './sections.ts';
import { decodeSettingsSearch, type SettingsSearch } from './settings-search.ts';

const route = getRouteApi('/shell/settings/$section');

/** What the address of a section holds, and what changes a part of it. */
export function useSectionSearch() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: { readonly [Name in keyof SettingsSearch]?: string | undefined }): void =>
    void navigate({ search: (before) => decodeSettingsSearch({ ...before, ...change }), replace: true });
  return [search, set] as const;
}

export interface SectionProps {
  readonly settings: Settings;
}

interface SettingsFormProps extends SectionProps {
  readonly section: SectionName;
  readonly parts: readonly Part[];
  /** What follows the form: a test of what is saved. */
  readonly children?: (form: Form) => ReactNode;
}

/** The settings of a section, saved together. */
export function SettingsForm({ section, settings, parts, children }: SettingsFormProps) {
  const queries = useQueryClient();
  const form = useForm({
    name: section,
    parts,
    values: { ...settings },
    save: async (body) => {
      queries.setQueryData(settingsQuery.queryKey, await call('PATCH /api/settings', { body }));
      showToast('Saved.');
      // They decide where backups are and when the next one is due.
      await queries.invalidateQueries({ queryKey: backupsKey });
    },
  });
  return (
    <>
      <FormView form={form} action="Save" />
      {children?.(form)}
    </>
  );
}
