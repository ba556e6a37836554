import type { Settings } from '../../api/settings.ts';
import { BucketSettings, BucketTest } from './bucket-settings.tsx';
import { DraftForm, Group, NumberSetting, TextSetting } from './draft-fields.tsx';
import { useSettingsDraft } from './use-settings-draft.ts';

const schedules = [
  { cron: '', label: 'Never' },
  { cron: '0 */6 * * *', label: 'Every 6 hours' },
  { cron: '0 3 * * *', label: 'Every night' },
  { cron: '0 3 * * 0', label: 'Every Sunday' },
] as const;

/** When backups are made, how many are kept, and where. */
export function BackupSchedule({ settings }: { readonly settings: Settings }) {
  const draft = useSettingsDraft('backups', settings);
  const cron = draft.text('backups.cron');
  return (
    <>
      <DraftForm draft={draft}>
        <Group title="Schedule">
          <div className="choices" role="group" aria-label="Common schedules">
            {schedules.map((one) => (
              <button
                key={one.cron}
                type="button"
                className="choice"
                aria-pressed={one.cron === cron}
                onClick={() => draft.set('backups.cron', one.cron)}
              >
                {one.label}
              </button>
            ))}
          </div>
          <div className="settings-pair">
            <TextSetting
              draft={draft}
              path="backups.cron"
              label="Cron, in UTC"
              placeholder="0 3 * * *"
              help="Minute, hour, day, month, weekday. Empty: no schedule."
            />
            <NumberSetting
              draft={draft}
              path="backups.cronMaxKeep"
              label="Keep"
              unit="backups"
              help="The oldest scheduled backups beyond this are deleted."
            />
          </div>
        </Group>
        <Group
          title="Where backups are kept"
          lead="On the disk of the service, or in a bucket that speaks S3. Stored backups stay where they are when you change this."
        >
          <BucketSettings draft={draft} path="backups.s3" label="Keep backups in S3" />
        </Group>
      </DraftForm>
      {settings.backups.s3.enabled && <BucketTest filesystem="backups" isChanged={draft.isChanged} />}
    </>
  );
}
