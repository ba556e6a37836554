import type { Part } from '../../parts/form/field.ts';
import { bucketFields, BucketTest } from './bucket-test.tsx';
import { type SectionProps, SettingsForm } from './settings-form.tsx';

const schedules = [
  { cron: '', label: 'Never' },
  { cron: '0 */6 * * *', label: 'Every 6 hours' },
  { cron: '0 3 * * *', label: 'Every night' },
  { cron: '0 3 * * 0', label: 'Every Sunday' },
] as const;

const parts: readonly Part[] = [
  {
    kind: 'group',
    title: 'Schedule',
    parts: [
      {
        kind: 'note',
        id: 'schedules',
        note: (form) => (
          <div className="choices" role="group" aria-label="Common schedules">
            {schedules.map(({ cron, label }) => (
              <button
                key={cron}
                type="button"
                className="choice"
                aria-pressed={cron === form.value('backups.cron')}
                onClick={() => form.set('backups.cron', cron)}
              >
                {label}
              </button>
            ))}
          </div>
        ),
      },
      {
        kind: 'row',
        parts: [
          {
            path: 'backups.cron',
            kind: 'text',
            label: 'Cron, in UTC',
            placeholder: '0 3 * * *',
            help: 'Minute, hour, day, month, weekday. Empty: no schedule.',
          },
          {
            path: 'backups.cronMaxKeep',
            kind: 'number',
            label: 'Keep',
            aside: 'backups',
            help: 'The oldest scheduled backups beyond this are deleted.',
          },
        ],
      },
    ],
  },
  {
    kind: 'group',
    title: 'Where backups are kept',
    lead: 'On the local disk, or in an S3-compatible bucket. Changing this does not move stored backups.',
    parts: bucketFields('backups.s3', 'Keep backups in S3'),
  },
];

/** When backups are made, how many are kept, and where. */
export function BackupSchedule({ settings }: SectionProps) {
  return (
    <SettingsForm section="backups" settings={settings} parts={parts}>
      {(form) =>
        settings.backups.s3.enabled && <BucketTest filesystem="backups" isChanged={form.changed.length > 0} />
      }
    </SettingsForm>
  );
}
