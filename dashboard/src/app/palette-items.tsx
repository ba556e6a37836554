import { useNavigate, useRouterState } from '@tanstack/react-router';
import CircleDot from 'lucide-react/icons/circle-dot';
import History from 'lucide-react/icons/history';
import LogOut from 'lucide-react/icons/log-out';
import PackagePlus from 'lucide-react/icons/package-plus';
import Plus from 'lucide-react/icons/plus';
import Rows3 from 'lucide-react/icons/rows-3';
import Send from 'lucide-react/icons/send';
import Settings from 'lucide-react/icons/settings';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import SquareTerminal from 'lucide-react/icons/square-terminal';
import type { ReactNode } from 'react';
import type { RecordModel } from '../api/client.ts';
import { findCollection, useLoadedCollections } from '../api/collections.ts';
import type { LogEntry } from '../api/find-in-log.ts';
import { mayUse } from '../api/session.ts';
import { setDensity, setTheme } from '../browser/theme.ts';
import { settingsSections } from '../screens/settings/sections.ts';
import { CollectionIcon } from '../parts/collection-icon.tsx';
import { useIsLocked } from '../parts/lock.tsx';
import { densityChoices, themeChoices, useSignOut } from './account-menu.tsx';
import { mayOpen, mayReach } from './may-open.ts';
import { screenLinks } from './screen-links.ts';

/** Something to open or to do. */
export interface PaletteItem {
  readonly key: string;
  readonly label: string;
  readonly kind: 'Collection' | 'Screen' | 'Action' | 'Record' | 'Event' | 'Delivery';
  readonly icon: ReactNode;
  readonly run: () => void;
}

const iconSize = 15;

/** Everything there is besides records, and what makes an item of a record. A new screen or action has its line here. */
export function usePaletteItems(): {
  readonly items: readonly PaletteItem[];
  readonly toRecordItem: (record: RecordModel) => PaletteItem;
  readonly toLogItem: (entry: LogEntry) => PaletteItem;
} {
  const collectionItems = useCollectionItems();
  const createItems = useCreateItems();
  const sectionItems = useSectionItems();
  const lookItems = useLookItems();
  const navigate = useNavigate();
  const leave = useSignOut();
  const isLocked = useIsLocked();
  const newCollection: PaletteItem = {
    key: '/new-collection',
    label: 'New collection',
    kind: 'Action',
    icon: <PackagePlus size={iconSize} aria-hidden />,
    run: () => void navigate({ to: '/new-collection' }),
  };
  const items: readonly PaletteItem[] = [
    ...createItems,
    ...(mayOpen('/new-collection') && !isLocked ? [newCollection] : []),
    ...screenLinks
      .filter(({ to }) => mayOpen(to))
      .map(({ to, label, icon: Icon }) => ({
        key: to,
        label,
        kind: 'Screen' as const,
        icon: <Icon size={iconSize} aria-hidden />,
        run: () => void navigate({ to }),
      })),
    ...collectionItems,
    ...sectionItems,
    ...lookItems,
    {
      key: 'sign-out',
      label: 'Sign out',
      kind: 'Action',
      icon: <LogOut size={iconSize} aria-hidden />,
      run: leave,
    },
  ];
  return {
    items,
    toRecordItem: ({ id, collectionId: _id, collectionName, ...texts }) => ({
      key: `${collectionName}/${id}`,
      label: [
        collectionName,
        Object.values(texts)
          .filter((text) => text !== '')
          .join(', ') || id,
      ].join(' / '),
      kind: 'Record',
      icon: <CircleDot size={iconSize} aria-hidden />,
      run: () =>
        void navigate({
          to: '/c/$collection',
          params: { collection: collectionName },
          search: { record: id },
        }),
    }),
    toLogItem: ({ kind, id, label }) => ({
      key: `log/${id}`,
      label,
      kind,
      icon: kind === 'Event' ? <History size={iconSize} aria-hidden /> : <Send size={iconSize} aria-hidden />,
      run: () => void navigate({ to: kind === 'Event' ? '/events/$id' : '/deliveries/$id', params: { id } }),
    }),
  };
}

function useCollectionItems(): readonly PaletteItem[] {
  const navigate = useNavigate();
  const collections = (useLoadedCollections() ?? []).filter(mayReach);
  // Those of the service last: people look for their own.
  const ordered = collections.toSorted((a, b) => Number(a.system) - Number(b.system));
  return ordered.map((collection) => ({
    key: collection.id,
    label: collection.name,
    kind: 'Collection',
    icon: <CollectionIcon collection={collection} />,
    run: () => void navigate({ to: '/c/$collection', params: { collection: collection.name } }),
  }));
}

/** Making a record is an action of the collection that is shown. */
function useCreateItems(): readonly PaletteItem[] {
  const navigate = useNavigate();
  const collections = useLoadedCollections() ?? [];
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [, name = ''] = /^\/c\/([^/]+)/.exec(path) ?? [];
  const collection = findCollection(collections, decodeURIComponent(name));
  if (collection === undefined || !mayUse('records:write')) return [];
  return [
    {
      key: 'create',
      label: `New record in ${collection.name}`,
      kind: 'Action',
      icon: <Plus size={iconSize} aria-hidden />,
      run: () =>
        void navigate({
          to: '/c/$collection',
          params: { collection: collection.name },
          search: { record: 'new' },
        }),
    },
    {
      key: 'schema',
      label: `Schema of ${collection.name}`,
      kind: 'Screen',
      icon: <SlidersHorizontal size={iconSize} aria-hidden />,
      run: () => void navigate({ to: '/c/$collection/schema', params: { collection: collection.name } }),
    },
    {
      key: 'api',
      label: `API of ${collection.name}`,
      kind: 'Screen',
      icon: <SquareTerminal size={iconSize} aria-hidden />,
      run: () => void navigate({ to: '/c/$collection/api', params: { collection: collection.name } }),
    },
  ];
}

/** The sections of the settings, which people look for by their names. */
function useSectionItems(): readonly PaletteItem[] {
  const navigate = useNavigate();
  if (!mayOpen('/settings')) return [];
  return settingsSections.map(({ section, label }) => ({
    key: `settings-${section}`,
    label: `Settings: ${label}`,
    kind: 'Screen',
    icon: <Settings size={iconSize} aria-hidden />,
    run: () => void navigate({ to: '/settings/$section', params: { section } }),
  }));
}

function useLookItems(): readonly PaletteItem[] {
  return [
    ...themeChoices.map(({ value, label, icon: Icon }) => ({
      key: `theme-${value}`,
      label: `Theme: ${label}`,
      kind: 'Action' as const,
      icon: <Icon size={iconSize} aria-hidden />,
      run: () => setTheme(value),
    })),
    ...densityChoices.map(({ value, label }) => ({
      key: `density-${value}`,
      label: `Density: ${label}`,
      kind: 'Action' as const,
      icon: <Rows3 size={iconSize} aria-hidden />,
      run: () => setDensity(value),
    })),
  ];
}
