import { type LinkProps, useRouterState } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
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
import type { Collection, RecordModel } from '../api/client.ts';
import { findCollection, useLoadedCollections } from '../api/collections.ts';
import type { LogEntry } from '../api/find-in-log.ts';
import { mayUse } from '../api/session.ts';
import { setDensity, setTheme } from '../browser/theme.ts';
import { settingsSections } from '../screens/settings/sections.ts';
import { useIsLocked } from '../parts/lock.tsx';
import { densityChoices, themeChoices, useSignOut } from './account-menu.tsx';
import { mayOpen, mayReach } from './may-open.ts';
import { screenLinks } from './screen-links.ts';

/** Something to open or to do. */
export interface PaletteItem {
  readonly key: string;
  readonly label: string;
  readonly kind: 'Collection' | 'Screen' | 'Action' | 'Record' | 'Event' | 'Delivery';
  readonly icon: LucideIcon | Collection;
  /** Where it leads, or what it does. */
  readonly act: LinkProps | (() => void);
}

/** Everything there is besides records. A new screen or action has its line here. */
export function usePaletteItems(): readonly PaletteItem[] {
  const collections = useLoadedCollections() ?? [];
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const leave = useSignOut();
  const isLocked = useIsLocked();
  const [, name = ''] = /^\/c\/([^/]+)/.exec(path) ?? [];
  return [
    ...itemsOf(findCollection(collections, decodeURIComponent(name))),
    ...(mayOpen('/new-collection') && !isLocked ? [newCollection] : []),
    ...screenLinks
      .filter(({ to }) => mayOpen(to))
      .map(({ to, label, icon }): PaletteItem => ({ key: to, label, kind: 'Screen', icon, act: { to } })),
    ...collections
      .filter(mayReach)
      // Those of the service last: people look for their own.
      .toSorted((a, b) => Number(a.system) - Number(b.system))
      .map(toCollectionItem),
    ...(mayOpen('/settings') ? sectionItems : []),
    ...lookItems,
    { key: 'sign-out', label: 'Sign out', kind: 'Action', icon: LogOut, act: leave },
  ];
}

const newCollection: PaletteItem = {
  key: '/new-collection',
  label: 'New collection',
  kind: 'Action',
  icon: PackagePlus,
  act: { to: '/new-collection' },
};

export function toRecordItem({ id, collectionId: _id, collectionName, ...texts }: RecordModel): PaletteItem {
  const text = Object.values(texts).filter((one) => one !== '');
  return {
    key: `${collectionName}/${id}`,
    label: `${collectionName} / ${text.join(', ') || id}`,
    kind: 'Record',
    icon: CircleDot,
    act: { to: '/c/$collection', params: { collection: collectionName }, search: { record: id } },
  };
}

export function toLogItem({ kind, id, label }: LogEntry): PaletteItem {
  const isEvent = kind === 'Event';
  const act = { to: isEvent ? '/events/$id' : '/deliveries/$id', params: { id } } as const;
  return { key: `log/${id}`, label, kind, icon: isEvent ? History : Send, act };
}

function toCollectionItem(collection: Collection): PaletteItem {
  const { id, name } = collection;
  const act = { to: '/c/$collection', params: { collection: name } } as const;
  return { key: id, label: name, kind: 'Collection', icon: collection, act };
}

/** Making a record is an action of the collection that is shown. */
function itemsOf(collection: Collection | undefined): readonly PaletteItem[] {
  if (collection === undefined || !mayUse('records:write')) return [];
  const { name } = collection;
  const params = { collection: name };
  return [
    {
      key: 'create',
      label: `New record in ${name}`,
      kind: 'Action',
      icon: Plus,
      act: { to: '/c/$collection', params, search: { record: 'new' } },
    },
    {
      key: 'schema',
      label: `Schema of ${name}`,
      kind: 'Screen',
      icon: SlidersHorizontal,
      act: { to: '/c/$collection/schema', params },
    },
    {
      key: 'api',
      label: `API of ${name}`,
      kind: 'Screen',
      icon: SquareTerminal,
      act: { to: '/c/$collection/api', params },
    },
  ];
}

/** The sections of the settings, which people look for by their names. */
const sectionItems = settingsSections.map(({ section, label }): PaletteItem => ({
  key: `settings-${section}`,
  label: `Settings: ${label}`,
  kind: 'Screen',
  icon: Settings,
  act: { to: '/settings/$section', params: { section } },
}));

const lookItems: readonly PaletteItem[] = [
  ...themeChoices.map(({ value, label, icon }): PaletteItem => {
    const act = (): void => setTheme(value);
    return { key: `theme-${value}`, label: `Theme: ${label}`, kind: 'Action', icon, act };
  }),
  ...densityChoices.map(({ value, label }): PaletteItem => {
    const act = (): void => setDensity(value);
    return { key: `density-${value}`, label: `Density: ${label}`, kind: 'Action', icon: Rows3, act };
  }),
];
