import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import type { Field, Part } from '../../parts/form/field.ts';
import { Group } from '../../parts/form/group.tsx';
import type { Form } from '../../parts/form/use-form.ts';
import { FailureNotice, Notice } from '../../parts/notice.tsx';

/** Whether a bucket is used, and which. */
export function bucketFields(path: 's3' | 'backups.s3', label: string): readonly Part[] {
  const when = (form: Form): boolean => form.value(`${path}.enabled`) === true;
  const text = (name: string, title: string, placeholder = ''): Field => ({
    path: `${path}.${name}`,
    kind: 'text',
    label: title,
    placeholder,
    when,
  });
  return [
    { path: `${path}.enabled`, kind: 'switch', label },
    text('endpoint', 'Endpoint', 'https://s3.eu-central-1.amazonaws.com'),
    { kind: 'row', parts: [text('bucket', 'Bucket'), text('region', 'Region', 'eu-central-1')] },
    {
      kind: 'row',
      parts: [
        text('accessKey', 'Access key'),
        { path: `${path}.secret`, kind: 'secret', isStored: true, isRemovable: true, label: 'Secret', when },
      ],
    },
    {
      path: `${path}.forcePathStyle`,
      kind: 'switch',
      label: 'The bucket is part of the path',
      help: "Most servers other than Amazon's need it.",
      when,
    },
  ];
}

interface BucketTestProps {
  readonly filesystem: 'storage' | 'backups';
  readonly isChanged: boolean;
}

/** Tries the bucket of the saved settings. */
export function BucketTest({ filesystem, isChanged }: BucketTestProps) {
  const { mutate, isPending, isSuccess, error } = useMutation({
    mutationFn: () => call('POST /api/settings/test/s3', { body: { filesystem } }),
  });
  return (
    <Group title="Test the bucket" lead="Writes, reads and deletes a small file with the saved settings.">
      {error !== null && <FailureNotice error={error} />}
      {isSuccess && <Notice tone="ok">The bucket works.</Notice>}
      <div>
        <Button disabled={isPending || isChanged} onClick={() => mutate()}>
          {isChanged ? 'Save before the test' : 'Test the bucket'}
        </Button>
      </div>
    </Group>
  );
}
