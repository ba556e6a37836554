import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { choicesOf } from '../../api/members-of.ts';
import type { Schemas } from '../../api/schema.ts';
import type { Settings } from '../../api/settings.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Code } from '../../parts/code.tsx';
import type { Choice, Part, Values } from '../../parts/form/field.ts';
import { FormView } from '../../parts/form/form-view.tsx';
import { Group } from '../../parts/form/group.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { Notice } from '../../parts/notice.tsx';
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

const linkColumns: readonly DataColumn<PortalLink>[] = [
  {
    id: 'endpoints',
    label: 'Endpoints',
    size: 150,
    kind: 'main',
    cell: ({ owner, endpoints }) => owner || plural(endpoints?.length ?? 0, 'endpoint'),
  },
  {
    id: 'may',
    label: 'Access',
    size: 110,
    cell: ({ scopes }) => (scopes.includes('webhooks:write') ? 'May change' : 'Reads only'),
  },
  {
    id: 'state',
    label: 'State',
    size: 260,
    kind: 'wide',
    cell: ({ opened, expires, ends }) => (
      <>
        {opened === '' ? 'Not opened, until ' : 'Open until '}
        <Time value={opened === '' ? expires : ends} />
      </>
    ),
  },
  { id: 'actions', label: 'Actions', size: 100, kind: 'number', cell: (link) => <EndLink link={link} /> },
];

function Links() {
  const { data, error, refetch } = useQuery(linksQuery);
  const isPart = data !== undefined && data.totalItems > data.items.length;
  return (
    <Group title="Links and open portals">
      <DataTable
        name="portal-links"
        label="Links and open portals"
        countOf={(count) => plural(count, 'link')}
        columns={linkColumns}
        rows={data?.items}
        error={error}
        onRetry={() => void refetch()}
        note={isPart ? `The latest ${linksMax} of ${data.totalItems.toLocaleString('en')}.` : undefined}
        empty={<p className="soft">None. Links that expired unused are not shown.</p>}
      />
    </Group>
  );
}

function EndLink({ link: { id, opened } }: { readonly link: PortalLink }) {
  const queries = useQueryClient();
  const { isBusy, attempt } = useToastedAttempt();
  const remove = async (): Promise<void> => {
    await call('DELETE /api/webhooks/portal-links/{id}', { path: { id } });
    showToast(opened === '' ? 'The link is revoked.' : 'The portal is closed.');
    await queries.invalidateQueries({ queryKey: linksQuery.queryKey });
  };
  return (
    <Button disabled={isBusy} onClick={() => attempt(remove)}>
      {opened === '' ? 'Revoke' : 'Close'}
    </Button>
  );
}
