import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Schemas } from '../../api/schema.ts';
import type { Settings } from '../../api/settings.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import type { Choice, Part, Values } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { Group } from '../../parts/form/group.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { FailureNotice, messageOf, Notice } from '../../parts/notice.tsx';
import { plural, Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { endpointChoices } from './endpoint-choices.ts';
import { LogoControl } from './logo-control.tsx';
import { type SectionProps, SettingsForm } from './settings-form.tsx';

type PortalLink = Schemas['PortalLink'];

const look: readonly Part[] = [
  {
    kind: 'group',
    title: 'Look',
    lead: 'How your customers’ portals look. Visible to everyone.',
    parts: [
      { path: 'portal.name', kind: 'text', label: 'Title', help: 'Empty: the name of the instance.' },
      { path: 'portal.logo', kind: 'custom', label: 'Logo', control: LogoControl },
      {
        path: 'portal.accentColor',
        kind: 'color',
        label: 'Colour',
        placeholder: '#1055c9',
        help: 'Empty: that of the instance.',
      },
      {
        path: 'portal.theme',
        kind: 'choice',
        label: 'Theme',
        choices: choicesOf<Settings['portal']['theme']>({
          auto: 'Customer’s system setting',
          light: 'Light',
          dark: 'Dark',
        }),
      },
      {
        path: 'portal.returnUrl',
        kind: 'text',
        type: 'url',
        label: 'Link back',
        placeholder: 'https://shop.example.com/account',
        help: 'Where customers go from the portal. Empty: no link.',
      },
    ],
  },
];

/** Portals for customers: how they look, and the links that open them. */
export function PortalSection({ settings }: SectionProps) {
  return (
    <>
      <SettingsForm section="portals" settings={settings} parts={look} />
      <NewLink />
      <Links />
    </>
  );
}

const linksMax = 100;

const linksQuery = queryOptions({
  queryKey: ['portal-links'],
  queryFn: async ({ signal }) => {
    const query = { sort: '-created', perPage: linksMax };
    return call('GET /api/webhooks/portal-links', { query, signal });
  },
});

function linkParts(endpoints: readonly Choice[]): readonly Part[] {
  return [
    {
      path: 'endpoints',
      kind: 'set',
      label: 'Endpoints',
      choices: endpoints,
      help: 'The customer sees and manages these.',
      when: (form) => form.value('owner') === '',
    },
    {
      path: 'owner',
      kind: 'text',
      isMono: true,
      label: 'Or those of an account',
      placeholder: 'users/r4nd0m1d0000001',
    },
    { path: 'mayChange', kind: 'switch', label: 'May change them and send again' },
    {
      path: 'expires',
      kind: 'date',
      label: 'Link expires',
      help: 'Empty: in an hour. A link opens a portal once.',
    },
  ];
}

function NewLink() {
  const queries = useQueryClient();
  const { data: endpoints = [] } = useQuery(endpointsQuery);
  const [made, setMade] = useState('');
  const form = useForm({
    name: 'portal-link',
    prefix: 'link-',
    parts: linkParts(endpointChoices(endpoints)),
    values: { endpoints: [], owner: '', mayChange: true, expires: '' },
    isNew: true,
    save: async ({ mayChange, expires, owner, endpoints: ids }) => {
      const body: Values = {
        scopes: mayChange === true ? ['webhooks:read', 'webhooks:write'] : ['webhooks:read'],
        ...(owner === '' ? { endpoints: ids } : { owner }),
        ...(expires !== '' && { expires }),
      };
      setMade((await call('POST /api/webhooks/portal-links', { body })).url);
      await queries.invalidateQueries({ queryKey: linksQuery.queryKey });
    },
  });
  return (
    <Group
      title="New link"
      lead="Your service creates links through the API when a customer opens their webhooks. Create one here to try it or to send it."
    >
      {made === '' ? (
        <FormView form={form} label="New link" action="Create link" />
      ) : (
        <>
          <Notice tone="retrying">Copy it now. You won’t see it again. It works in one browser.</Notice>
          <Code text={made} />
          <div>
            <Button onClick={() => setMade('')}>I’ve copied it</Button>
          </div>
        </>
      )}
    </Group>
  );
}

function Links() {
  const { data, error, refetch } = useQuery(linksQuery);
  return (
    <Group title="Links and open portals">
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && <p className="soft">None. Links that expired unused are not shown.</p>}
      {data !== undefined && data.items.length > 0 && (
        <ul className="panel settings-list" aria-label="Links and open portals">
          {data.items.map((link) => (
            <LinkRow key={link.id} link={link} />
          ))}
        </ul>
      )}
      {data !== undefined && data.totalItems > data.items.length && (
        <p className="soft">
          The latest {linksMax} of {data.totalItems.toLocaleString('en')}.
        </p>
      )}
    </Group>
  );
}

function LinkRow({
  link: { id, endpoints, owner, scopes, opened, expires, ends },
}: {
  readonly link: PortalLink;
}) {
  const queries = useQueryClient();
  const remove = async (): Promise<void> => {
    try {
      await call('DELETE /api/webhooks/portal-links/{id}', { path: { id } });
      showToast(opened === '' ? 'The link is revoked.' : 'The portal is closed.');
      await queries.invalidateQueries({ queryKey: linksQuery.queryKey });
    } catch (error) {
      showToast(messageOf(error));
    }
  };
  return (
    <li className="settings-row">
      <span className="settings-row-main">
        <span className="settings-row-title cut">{owner || plural(endpoints?.length ?? 0, 'endpoint')}</span>
        <span className="soft settings-row-note">
          {scopes.includes('webhooks:write') ? 'May change' : 'Reads only'}
          <span>
            {opened === '' ? 'Not opened, until ' : 'Open until '}
            <Time value={opened === '' ? expires : ends} />
          </span>
        </span>
      </span>
      <Button onClick={() => void remove()}>{opened === '' ? 'Revoke' : 'Close'}</Button>
    </li>
  );
}
