import { useState } from 'react';
import { call } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { Group, SecretSetting, SwitchSetting, TextSetting } from './draft-fields.tsx';
import type { Draft } from './use-draft.ts';

interface BucketSettingsProps {
  readonly draft: Draft;
  /** Of the settings that name the bucket. */
  readonly path: 's3' | 'backups.s3';
  readonly label: string;
}

/** Whether a bucket is used, and which. */
export function BucketSettings({ draft, path, label }: BucketSettingsProps) {
  return (
    <>
      <SwitchSetting draft={draft} path={`${path}.enabled`} label={label} />
      {draft.flag(`${path}.enabled`) && (
        <>
          <TextSetting
            draft={draft}
            path={`${path}.endpoint`}
            label="Endpoint"
            placeholder="https://s3.eu-central-1.amazonaws.com"
          />
          <div className="settings-pair">
            <TextSetting draft={draft} path={`${path}.bucket`} label="Bucket" />
            <TextSetting draft={draft} path={`${path}.region`} label="Region" placeholder="eu-central-1" />
          </div>
          <div className="settings-pair">
            <TextSetting draft={draft} path={`${path}.accessKey`} label="Access key" />
            <SecretSetting draft={draft} path={`${path}.secret`} label="Secret" />
          </div>
          <SwitchSetting
            draft={draft}
            path={`${path}.forcePathStyle`}
            label="The bucket is part of the path"
            help="Most servers other than Amazon's need it."
          />
        </>
      )}
    </>
  );
}

interface BucketTestProps {
  readonly filesystem: 'storage' | 'backups';
  readonly isChanged: boolean;
}

/** Tries the bucket of the saved settings. */
export function BucketTest({ filesystem, isChanged }: BucketTestProps) {
  const [state, setState] = useState<'none' | 'busy' | 'done'>('none');
  const [error, setError] = useState<unknown>();
  const test = async (): Promise<void> => {
    setState('busy');
    setError(undefined);
    try {
      await call('POST /api/settings/test/s3', { body: { filesystem } });
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
