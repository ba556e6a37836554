import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Schemas } from '../../api/schema.ts';
import type { Settings } from '../../api/settings.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Notice } from '../../parts/notice.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { timeColumn } from '../../parts/data-table/time-column.tsx';
import { isAbsent } from '../../parts/loaded.tsx';
import { plural } from '../../parts/time.tsx';
import type { Part } from '../../parts/form/field.ts';
import { Group } from '../../parts/form/group.tsx';
import type { Form } from '../../parts/form/use-form.ts';
import { MailTest } from './mail-test.tsx';
import { type SectionProps, SettingsForm } from './settings-form.tsx';

const authMethods = choicesOf<Settings['smtp']['authMethod']>({
  '': 'What the server offers',
  PLAIN: 'PLAIN',
  LOGIN: 'LOGIN',
});

const isOn = (form: Form): boolean => form.value('smtp.enabled') === true;

const parts: readonly Part[] = [
  {
    kind: 'group',
    title: 'Sender',
    lead: (
      <>
        Edit the text of emails in the{' '}
        <Link to="/settings/$section" params={{ section: 'templates' }} className="link">
          templates
        </Link>
        .
      </>
    ),
    parts: [
      {
        kind: 'row',
        parts: [
          { path: 'meta.senderName', kind: 'text', label: "Sender's name" },
          { path: 'meta.senderAddress', kind: 'text', type: 'email', label: "Sender's address" },
        ],
      },
    ],
  },
  {
    kind: 'group',
    title: 'Mail server',
    parts: [
      {
        path: 'smtp.enabled',
        kind: 'switch',
        label: 'Send mails by SMTP',
        help: 'Without it, no emails are sent. A development server keeps them for you to read.',
      },
      {
        kind: 'row',
        parts: [
          { path: 'smtp.host', kind: 'text', label: 'Host', when: isOn },
          { path: 'smtp.port', kind: 'number', label: 'Port', when: isOn },
        ],
      },
      {
        kind: 'row',
        parts: [
          { path: 'smtp.username', kind: 'text', label: 'User name', when: isOn },
          {
            path: 'smtp.password',
            kind: 'secret',
            isStored: true,
            isRemovable: true,
            label: 'Password',
            when: isOn,
          },
        ],
      },
      { path: 'smtp.authMethod', kind: 'choice', label: 'Sign-in', choices: authMethods, when: isOn },
      {
        path: 'smtp.tls',
        kind: 'switch',
        label: 'Implicit TLS',
        help: 'Usual on port 465. Otherwise STARTTLS is used, as on port 587.',
        when: isOn,
      },
      {
        path: 'smtp.localName',
        kind: 'text',
        label: 'Name given to the server',
        help: "Empty: the host of the instance's URL.",
        when: isOn,
      },
    ],
  },
];

/** Who sends mails, and by which server. */
export function MailSection({ settings }: SectionProps) {
  return (
    <SettingsForm section="mail" settings={settings} parts={parts}>
      {(form) => (
        <>
          <MailTest isChanged={form.changed.length > 0} />
          <KeptMails />
        </>
      )}
    </SettingsForm>
  );
}

type KeptMail = Schemas['Mail'] & { readonly id: string };

const mailColumns: readonly DataColumn<KeptMail>[] = [
  { id: 'subject', label: 'Subject', size: 200, kind: 'main', cell: ({ subject }) => subject },
  { id: 'to', label: 'To', size: 180, cell: ({ to }) => to },
  {
    id: 'result',
    label: 'Result',
    size: 140,
    kind: 'wide',
    cell: ({ result, reason }) => (
      <>
        <Badge tone={result === 'failed' ? 'failed' : 'ok'}>{result}</Badge>
        {result === 'failed' && ` ${reason}`}
      </>
    ),
  },
  { ...timeColumn, sort: ({ created }) => created },
];

/** The last mails of a development server, which keeps them. Any other does not, and says so by a 404. */
function KeptMails() {
  const [isWanted, setIsWanted] = useState(false);
  const [sort, setSort] = useState('-created');
  const { data, error, refetch } = useQuery({
    queryKey: ['mails'],
    queryFn: async ({ signal }) => (await call('GET /api/mails', { signal })).items,
    enabled: isWanted,
    staleTime: 0,
  });
  return (
    <Group
      title="Last mails"
      lead="A development server (--dev) keeps the last emails, so you need no mail server."
    >
      {!isWanted && (
        <div>
          <Button onClick={() => setIsWanted(true)}>Show the last mails</Button>
        </div>
      )}
      {isAbsent(error) && <Notice>This server was not started with --dev, so it keeps no mails.</Notice>}
      {isWanted && !isAbsent(error) && (
        <DataTable
          name="mails"
          label="Last mails"
          countOf={(count) => plural(count, 'mail')}
          columns={mailColumns}
          rows={data?.map((mail, index) => ({ ...mail, id: String(index) }))}
          error={error}
          onRetry={() => void refetch()}
          sort={sort}
          onSort={setSort}
          empty={<Notice>No mail has been sent since the server started.</Notice>}
        />
      )}
    </Group>
  );
}
