import { useState } from 'react';
import { call } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Schemas } from '../../api/schema.ts';
import { useSession } from '../../api/session.ts';
import type { Part } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { Group } from '../../parts/form/group.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { Notice } from '../../parts/notice.tsx';
import { mailTemplates } from '../../parts/mail-templates.ts';

/** Sends one of the mails, with values that are made up. */
export function MailTest({ isChanged }: { readonly isChanged: boolean }) {
  const session = useSession();
  const collections = useLoadedCollections()?.filter(({ type }) => type === 'auth') ?? [];
  const [sentTo, setSentTo] = useState('');
  const parts: readonly Part[] = [
    { path: 'email', kind: 'text', type: 'email', label: 'To' },
    {
      path: 'template',
      kind: 'choice',
      label: 'Mail',
      choices: mailTemplates.map(({ name, label }) => ({ value: name, label })),
    },
    {
      path: 'collection',
      kind: 'choice',
      label: 'Of',
      choices: collections.map(({ name }) => ({ value: name, label: name })),
    },
  ];
  const form = useForm({
    name: 'mail-test',
    prefix: 'test-',
    parts,
    values: {
      email: session?.key === undefined ? (session?.label ?? '') : '',
      template: 'verification',
      collection: '_superusers',
    },
    isNew: true,
    save: async (values) => {
      setSentTo('');
      // The fields of the description above.
      const body = values as unknown as Schemas['TestMail'];
      await call('POST /api/settings/test/email', { body });
      setSentTo(body.email);
      return 'stays';
    },
  });
  return (
    <Group title="Send a test mail" lead="Uses the saved settings and sample values.">
      <FormView
        form={form}
        action={isChanged ? 'Save before the test' : 'Send the test mail'}
        isReady={!isChanged}
        lead={sentTo !== '' && <Notice tone="ok">The mail server accepted the mail to {sentTo}.</Notice>}
      />
    </Group>
  );
}
