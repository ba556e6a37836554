import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Settings } from '../../api/settings.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { DraftForm, Group, SecretSetting, SwitchSetting, TextSetting } from './draft-fields.tsx';
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
          <SwitchSetting draft={draft} path="s3.enabled" label="Keep files in S3" />
          {draft.flag('s3.enabled') && (
            <>
              <TextSetting
                draft={draft}
                path="s3.endpoint"
                label="Endpoint"
                placeholder="https://s3.eu-central-1.amazonaws.com"
              />
              <div className="settings-pair">
                <TextSetting draft={draft} path="s3.bucket" label="Bucket" />
                <TextSetting draft={draft} path="s3.region" label="Region" placeholder="eu-central-1" />
              </div>
              <div className="settings-pair">
                <TextSetting draft={draft} path="s3.accessKey" label="Access key" />
                <SecretSetting draft={draft} path="s3.secret" label="Secret" />
              </div>
              <SwitchSetting
                draft={draft}
                path="s3.forcePathStyle"
                label="The bucket is part of the path"
                help="Most servers other than Amazon's need it."
              />
            </>
          )}
        </Group>
      </DraftForm>
      {settings.s3.enabled && <BucketTest isChanged={draft.isChanged} />}
    </>
  );
}

function BucketTest({ isChanged }: { readonly isChanged: boolean }) {
  const [state, setState] = useState<'none' | 'busy' | 'done'>('none');
  const [error, setError] = useState<unknown>();
  const test = async (): Promise<void> => {
    setState('busy');
    setError(undefined);
    try {
      await call('POST /api/settings/test/s3', { body: { filesystem: 'storage' } });
      setState('done');
    } catch (failure) {
      setError(failure);
      setState('none');
    }
  };
  return (
    <Group
      title="Test the bucket"
      lead="Stores a small file, reads it and removes it, by the saved settings."
    >
      {error !== undefined && <FailureNotice error={error} />}
      {state === 'done' && <Notice tone="ok">The bucket works.</Notice>}
      <div>
        <Button disabled={state === 'busy' || isChanged} onClick={() => void test()}>
          {isChanged ? 'Save before the test' : 'Test the bucket'}
        </Button>
      </div>
    </Group>
  );
}
