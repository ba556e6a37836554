import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call, Failure } from '../../api/client.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Settings } from '../../api/settings.ts';
import { Button } from '../../parts/button.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import {
  ChoiceSetting,
  DraftForm,
  Group,
  NumberSetting,
  SecretSetting,
  SwitchSetting,
  TextSetting,
} from './draft-fields.tsx';
import { MailTest } from './mail-test.tsx';
import { useSettingsDraft } from './use-settings-draft.ts';

const authMethods = choicesOf<Settings['smtp']['authMethod']>({
  '': 'What the server offers',
  PLAIN: 'PLAIN',
  LOGIN: 'LOGIN',
});

/** Who sends mails, and by which server. */
export function MailSection({ settings }: { readonly settings: Settings }) {
  const draft = useSettingsDraft('mail', settings);
  return (
    <>
      <DraftForm draft={draft}>
        <Group
          title="Sender"
          lead={
            <>
              What mails say is in their{' '}
              <Link to="/settings/$section" params={{ section: 'templates' }} className="link">
                templates
              </Link>
              .
            </>
          }
        >
          <div className="settings-pair">
            <TextSetting draft={draft} path="meta.senderName" label="Sender's name" />
            <TextSetting draft={draft} path="meta.senderAddress" label="Sender's address" inputMode="email" />
          </div>
        </Group>
        <Group title="Mail server">
          <SwitchSetting
            draft={draft}
            path="smtp.enabled"
            label="Send mails by SMTP"
            help="Without it mails are not sent. A development server keeps them for you to read."
          />
          {draft.flag('smtp.enabled') && (
            <>
              <div className="settings-pair">
                <TextSetting draft={draft} path="smtp.host" label="Host" />
                <NumberSetting draft={draft} path="smtp.port" label="Port" />
              </div>
              <div className="settings-pair">
                <TextSetting draft={draft} path="smtp.username" label="User name" />
                <SecretSetting draft={draft} path="smtp.password" label="Password" />
              </div>
              <ChoiceSetting draft={draft} path="smtp.authMethod" label="Sign-in" choices={authMethods} />
              <SwitchSetting
                draft={draft}
                path="smtp.tls"
                label="TLS from the first byte"
                help="Usual on port 465. Otherwise STARTTLS is used, as on port 587."
              />
              <TextSetting
                draft={draft}
                path="smtp.localName"
                label="Name given to the server"
                help="Empty: the host of the instance's URL."
              />
            </>
          )}
        </Group>
      </DraftForm>
      <MailTest isChanged={draft.isChanged} />
      <KeptMails />
    </>
  );
}

/** The last mails of a development server, which keeps them. Any other does not, and says so by a 404. */
function KeptMails() {
  const [isWanted, setIsWanted] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['mails'],
    queryFn: async ({ signal }) => (await call('GET /api/mails', { signal })).items,
    enabled: isWanted,
    staleTime: 0,
  });
  return (
    <Group
      title="Last mails"
      lead="A development server (--dev) keeps the last mails, so that you need no mail server."
    >
      {error instanceof Failure && error.status === 404 && (
        <Notice>This server was not started with --dev, so it keeps no mails.</Notice>
      )}
      {data?.length === 0 && <Notice>No mail has been sent since the server started.</Notice>}
      {data !== undefined && data.length > 0 && (
        <ul className="panel settings-list">
          {data.map(({ created, to, subject, result, reason }) => (
            <li key={`${created}${to}${subject}`} className="settings-row">
              <span className="settings-row-main">
                <span className="cut">{subject}</span>
                <span className="soft cut">
                  to {to}
                  {result === 'failed' && `: ${reason}`}
                </span>
              </span>
              <span className="badge" data-tone={result === 'failed' ? 'failed' : 'ok'}>
                {result}
              </span>
              <span className="soft">
                <Time value={created} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {data === undefined && error === null && (
        <div>
          <Button onClick={() => setIsWanted(true)}>Show the last mails</Button>
        </div>
      )}
    </Group>
  );
}
