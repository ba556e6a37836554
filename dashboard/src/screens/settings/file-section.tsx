import type { Settings } from '../../api/settings.ts';
import { BucketSettings, BucketTest } from './bucket-settings.tsx';
import { DraftForm, Group } from './draft-fields.tsx';
import { useSettingsDraft } from './use-settings-draft.ts';

/** Where files of records are kept. */
export function FileSection({ settings }: { readonly settings: Settings }) {
  const draft = useSettingsDraft('files', settings);
  return (
    <>
      <DraftForm draft={draft}>
        <Group
          title="Where files are kept"
          lead="On the disk of the service, or in a bucket that speaks S3. Files stay where they are when you change this: copy them first."
        >
          <BucketSettings draft={draft} path="s3" label="Keep files in S3" />
        </Group>
      </DraftForm>
      {settings.s3.enabled && <BucketTest filesystem="storage" isChanged={draft.isChanged} />}
    </>
  );
}
