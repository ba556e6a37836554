import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { choicesOf } from '../../api/members-of.ts';
import { healthQuery } from '../../api/last-day.ts';
import type { Settings } from '../../api/settings.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import {
  ChoiceSetting,
  DraftForm,
  Group,
  LinesSetting,
  NumberSetting,
  SwitchSetting,
  TextSetting,
} from './draft-fields.tsx';
import { PortalSettings } from './portal-settings.tsx';
import type { Draft } from './use-draft.ts';
import { useSettingsDraft } from './use-settings-draft.ts';

interface SectionProps {
  readonly settings: Settings;
}

/** How the instance is called, and where it is. */
export function GeneralSection({ settings }: SectionProps) {
  const draft = useSettingsDraft('general', settings);
  return (
    <DraftForm draft={draft}>
      <Group title="Instance" lead="Its name stands in mails and at the top of this dashboard.">
        <TextSetting draft={draft} path="meta.appName" label="Name" />
        <TextSetting
          draft={draft}
          path="meta.appURL"
          label="URL"
          inputMode="url"
          help="Where people reach this instance. Links in mails begin with it."
        />
        <AccentSetting draft={draft} />
      </Group>
      <PortalSettings draft={draft} />
      <About />
    </DraftForm>
  );
}

function AccentSetting({ draft }: { readonly draft: Draft }) {
  const color = draft.text('meta.accentColor');
  const isHex = /^#[0-9a-f]{6}$/i.test(color);
  return (
    <div className="settings-accent">
      <TextSetting
        draft={draft}
        path="meta.accentColor"
        label="Accent colour"
        placeholder="#1055c9"
        help="Of buttons and links here. It is made lighter or darker where it could not be read."
      />
      <input
        type="color"
        aria-label="Choose the accent colour"
        value={isHex ? color : '#1055c9'}
        onChange={(event) => draft.set('meta.accentColor', event.target.value)}
      />
    </div>
  );
}

function About() {
  const { data } = useQuery(healthQuery);
  if (data === undefined) return null;
  const lines = [
    ['Version', data.version ?? ''],
    ['Engine', data.engine === 'postgres' ? 'PostgreSQL' : 'SQLite'],
    ['Instance id', data.instanceId ?? ''],
  ];
  return (
    <Group title="About">
      <dl className="details">
        {lines.map(([name = '', value = '']) => (
          <div key={name} className="detail-placeholder">
            <dt>{name}</dt>
            <dd>
              <span className="detail-value mono">{value}</span>
              <CopyButton text={value} label={`Copy: ${name}`} />
            </dd>
          </div>
        ))}
      </dl>
    </Group>
  );
}

const audiences = [
  { value: 0, label: 'All requests' },
  { value: 4, label: 'Refused and failed ones' },
  { value: 8, label: 'Failed ones' },
] as const;

/** What the request log has, and for how long. */
export function LogSection({ settings }: SectionProps) {
  const draft = useSettingsDraft('logs', settings);
  return (
    <DraftForm draft={draft}>
      <Group
        title="Request log"
        lead={
          <>
            Bodies are never logged.{' '}
            <Link to="/logs" className="link">
              Open the log
            </Link>
          </>
        }
      >
        <NumberSetting
          draft={draft}
          path="logs.maxDays"
          label="Keep entries for"
          unit="days"
          help="0 logs nothing and deletes all entries. At most 100,000 are kept."
        />
        <NumberSetting
          draft={draft}
          path="logs.maxDataSize"
          label="Limit the size of an entry"
          unit="bytes"
          help="0 for no limit."
        />
        <ChoiceSetting draft={draft} path="logs.minLevel" label="What is logged" choices={audiences} />
        <SwitchSetting draft={draft} path="logs.logIP" label="Log the addresses of clients" />
        <SwitchSetting draft={draft} path="logs.logAuthId" label="Log the ids of accounts" />
      </Group>
    </DraftForm>
  );
}

/** Who may come, and where requests come from. */
export function AccessSection({ settings }: SectionProps) {
  const draft = useSettingsDraft('access', settings);
  const { data } = useQuery(healthQuery);
  const header = data?.possibleProxyHeader ?? '';
  return (
    <DraftForm draft={draft}>
      <Group
        title="Superusers"
        lead={data?.realIP === undefined ? undefined : `Your own address is ${data.realIP}.`}
      >
        <LinesSetting
          draft={draft}
          path="superuserIPs"
          label="Addresses that superusers and API keys may come from"
          placeholder="192.0.2.0/24"
          help="Addresses and ranges. Empty: from anywhere."
        />
      </Group>
      <Group
        title="In a frame"
        lead="By default no site may show this dashboard in a frame. Name only sites that you trust."
      >
        <LinesSetting
          draft={draft}
          path="meta.frameAncestors"
          label="Sites that may"
          placeholder="https://shop.example.com"
          help="Origins, at most 20, for example of the site with a portal for your customers. Empty: none."
        />
      </Group>
      <Group
        title="Behind a proxy"
        lead="Read only from the proxies that the operator trusts with --trusted-proxies."
      >
        <LinesSetting
          draft={draft}
          path="trustedProxy.headers"
          label="Headers that name the client"
          placeholder="X-Forwarded-For"
          help={
            header === ''
              ? 'Empty: X-Forwarded-For.'
              : `A proxy seems to write ${header}, and is not trusted.`
          }
        />
        <SwitchSetting
          draft={draft}
          path="trustedProxy.useLeftmostIP"
          label="Take the left-most address"
          help="Only where the proxy replaces what clients write themselves."
        />
      </Group>
    </DraftForm>
  );
}

const eventChoices = choicesOf<Settings['webhooks']['events']>({
  always: 'Always: a feed and replays have all changes',
  'when told': 'Only where an endpoint is told of them',
});

/** Batches, and which changes are events. */
export function RequestSection({ settings }: SectionProps) {
  const draft = useSettingsDraft('requests', settings);
  return (
    <DraftForm draft={draft}>
      <Group title="Batches" lead="Several changes in one request, all or none.">
        <SwitchSetting draft={draft} path="batch.enabled" label="Allow batches" />
        <NumberSetting draft={draft} path="batch.maxRequests" label="Requests in one" help="1 to 1,000." />
        <NumberSetting
          draft={draft}
          path="batch.timeout"
          label="Time for one"
          unit="seconds"
          help="1 to 10. Other writes wait meanwhile."
        />
        <NumberSetting
          draft={draft}
          path="batch.maxBodySize"
          label="Size of one"
          unit="bytes"
          help="0: as large as any body."
        />
      </Group>
      <Group title="Events">
        <ChoiceSetting
          draft={draft}
          path="webhooks.events"
          label="When a change becomes an event"
          choices={eventChoices}
        />
        <NumberSetting
          draft={draft}
          path="webhooks.accountEndpointsMax"
          label="Endpoints of accounts"
          help="0 to 1,000 together, apart from your own. An account may have 5."
        />
      </Group>
    </DraftForm>
  );
}
