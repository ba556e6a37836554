import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { healthQuery } from '../../api/last-day.ts';
import { explainedChoicesOf } from '../../api/members-of.ts';
import type { Settings } from '../../api/settings.ts';
import { TextToCopy } from '../../parts/copy-button.tsx';
import { Facts } from '../../parts/facts.tsx';
import type { Part } from '../../parts/form/field.ts';
import { Group } from '../../parts/form/group.tsx';
import { bucketFields, BucketTest } from './bucket-test.tsx';
import { RuleTable } from './rule-table.tsx';
import { type SectionProps, SettingsForm } from './settings-form.tsx';

const general: readonly Part[] = [
  {
    kind: 'group',
    title: 'Instance',
    lead: 'Shown in emails and at the top of the dashboard.',
    parts: [
      { path: 'meta.appName', kind: 'text', label: 'Name' },
      {
        path: 'meta.appURL',
        kind: 'text',
        type: 'url',
        label: 'URL',
        help: 'The public address of this instance. Links in emails start with it.',
      },
      {
        path: 'meta.accentColor',
        kind: 'color',
        label: 'Accent colour',
        placeholder: '#1055c9',
        help: 'For buttons and links. Adjusted where contrast is too low.',
      },
      {
        path: 'meta.hideControls',
        kind: 'switch',
        label: 'Lock collections and records',
        help: 'Prevents mistakes in production: the dashboard changes no definitions, and stored records only after unlocking them. The API is not affected.',
      },
    ],
  },
];

/** How the instance is called, and where it is. */
export function GeneralSection({ settings }: SectionProps) {
  return (
    <SettingsForm section="general" settings={settings} parts={general}>
      {() => <About />}
    </SettingsForm>
  );
}

function About() {
  const { data } = useQuery(healthQuery);
  if (data === undefined) return null;
  const { version = '', engine, instanceId = '' } = data;
  const lines = {
    Version: version,
    Engine: engine === 'postgres' ? 'PostgreSQL' : 'SQLite',
    'Instance id': instanceId,
  };
  return (
    <Group title="About">
      <Facts
        items={Object.fromEntries(
          Object.entries(lines).map(([name, text]) => [
            name,
            <TextToCopy key={name} text={text} label={`Copy: ${name}`} />,
          ]),
        )}
      />
    </Group>
  );
}

const logs: readonly Part[] = [
  {
    kind: 'group',
    title: 'Request log',
    lead: (
      <>
        Bodies are never logged.{' '}
        <Link to="/logs" className="link">
          Open the log
        </Link>
      </>
    ),
    parts: [
      {
        path: 'logs.maxDays',
        kind: 'number',
        label: 'Keep entries for',
        aside: 'days',
        help: '0 logs nothing and deletes all entries. At most 100,000 are kept.',
      },
      {
        path: 'logs.maxDataSize',
        kind: 'bytes',
        label: 'Limit the size of an entry',
        help: '0 for no limit.',
      },
      {
        path: 'logs.minLevel',
        kind: 'choice',
        label: 'What is logged',
        choices: [
          { value: 0, label: 'All requests' },
          { value: 4, label: 'Refused and failed ones' },
          { value: 8, label: 'Failed ones' },
        ],
      },
      { path: 'logs.logIP', kind: 'switch', label: 'Log the addresses of clients' },
      { path: 'logs.logAuthId', kind: 'switch', label: 'Log the ids of accounts' },
    ],
  },
];

/** What the request log has, and for how long. */
export function LogSection({ settings }: SectionProps) {
  return <SettingsForm section="logs" settings={settings} parts={logs} />;
}

/** Who may come, and where requests come from. */
export function AccessSection({ settings }: SectionProps) {
  const { data } = useQuery(healthQuery);
  return (
    <SettingsForm
      section="access"
      settings={settings}
      parts={accessParts(data?.realIP, data?.possibleProxyHeader ?? '')}
    />
  );
}

function accessParts(address: string | undefined, header: string): readonly Part[] {
  return [
    {
      kind: 'group',
      title: 'Superusers',
      ...(address !== undefined && { lead: `Your own address is ${address}.` }),
      parts: [
        {
          path: 'superuserIPs',
          kind: 'list',
          label: 'Addresses that superusers and API keys may come from',
          aside: 'one per line',
          placeholder: '192.0.2.0/24',
          help: 'Addresses and ranges. Empty: from anywhere.',
        },
      ],
    },
    {
      kind: 'group',
      title: 'In a frame',
      lead: 'By default, no site can embed this dashboard. Allow only sites you trust.',
      parts: [
        {
          path: 'meta.frameAncestors',
          kind: 'list',
          label: 'Sites that may',
          aside: 'one per line',
          placeholder: 'https://shop.example.com',
          help: 'At most 20 origins, such as the site with your customers’ portal. Empty: none.',
        },
      ],
    },
    {
      kind: 'group',
      title: 'Behind a proxy',
      lead: 'Read only from the proxies that the operator trusts with --trusted-proxies.',
      parts: [
        {
          path: 'trustedProxy.headers',
          kind: 'list',
          label: 'Client address headers',
          aside: 'one per line',
          placeholder: 'X-Forwarded-For',
          help:
            header === ''
              ? 'Empty: X-Forwarded-For.'
              : `A proxy seems to write ${header}, and is not trusted.`,
        },
        {
          path: 'trustedProxy.useLeftmostIP',
          kind: 'switch',
          label: 'Use the leftmost address',
          help: 'Only if the proxy replaces the values that clients send.',
        },
      ],
    },
  ];
}

const requests: readonly Part[] = [
  {
    kind: 'group',
    title: 'Batches',
    lead: 'Several changes in one request, all or none.',
    parts: [
      { path: 'batch.enabled', kind: 'switch', label: 'Allow batches' },
      {
        kind: 'row',
        parts: [
          { path: 'batch.maxRequests', kind: 'number', label: 'Requests in one', help: '1 to 1,000.' },
          {
            path: 'batch.timeout',
            kind: 'duration',
            label: 'Time for one',
            help: '1 to 10 s. Other writes wait meanwhile.',
          },
          {
            path: 'batch.maxBodySize',
            kind: 'bytes',
            label: 'Size of one',
            help: '0: the limit for any body.',
          },
        ],
      },
    ],
  },
  {
    kind: 'group',
    title: 'Events',
    parts: [
      {
        path: 'webhooks.events',
        kind: 'choice',
        label: 'When a change becomes an event',
        choices: explainedChoicesOf<Settings['webhooks']['events']>({
          always: { label: 'Always', help: 'Feeds and replays contain all changes.' },
          'when told': { label: 'When needed', help: 'Only if an endpoint subscribes to it.' },
        }),
      },
    ],
  },
  {
    kind: 'group',
    title: 'Endpoints of accounts',
    parts: [
      {
        path: 'webhooks.accountEndpointsMax',
        kind: 'number',
        label: 'Endpoints of accounts',
        help: '0 to 1,000 in total, not counting your own. Each account may have 5.',
      },
      {
        path: 'webhooks.verifyAccountEndpoints',
        kind: 'switch',
        label: 'Receivers have to agree',
        help: 'An account’s endpoint receives nothing until its receiver answers a challenge.',
      },
    ],
  },
];

/** Batches, and which changes are events. */
export function RequestSection({ settings }: SectionProps) {
  return <SettingsForm section="requests" settings={settings} parts={requests} />;
}

const rateLimits: readonly Part[] = [
  {
    kind: 'group',
    title: 'Rate limits',
    lead: 'Superusers and API keys are never limited. Only the most specific rule applies to a request.',
    parts: [
      { path: 'rateLimits.enabled', kind: 'switch', label: 'Limit requests' },
      {
        path: 'rateLimits.rules',
        kind: 'custom',
        label: 'Rules',
        control: RuleTable,
        help: 'posts:create an action on a collection, *:create on all, /api/batch a path, /api/ all below it.',
      },
    ],
  },
  {
    kind: 'group',
    title: 'Exceptions',
    parts: [
      {
        path: 'rateLimits.excludedIPs',
        kind: 'list',
        label: 'Addresses that are never limited',
        aside: 'one per line',
        placeholder: '192.0.2.0/24',
        help: 'Addresses and ranges.',
      },
    ],
  },
];

/** How many requests clients may send. */
export function RateLimitSection({ settings }: SectionProps) {
  return <SettingsForm section="rate-limits" settings={settings} parts={rateLimits} />;
}

const files: readonly Part[] = [
  {
    kind: 'group',
    title: 'Where files are kept',
    lead: 'On the local disk, or in an S3-compatible bucket. Changing this does not move files: copy them first.',
    parts: bucketFields('s3', 'Keep files in S3'),
  },
];

/** Where files of records are kept. */
export function FileSection({ settings }: SectionProps) {
  return (
    <SettingsForm section="files" settings={settings} parts={files}>
      {(form) =>
        settings.s3.enabled && <BucketTest filesystem="storage" isChanged={form.changed.length > 0} />
      }
    </SettingsForm>
  );
}
