import type { LucideIcon } from 'lucide-react';
import Eye from 'lucide-react/icons/eye';
import Table2 from 'lucide-react/icons/table-2';
import UsersRound from 'lucide-react/icons/users-round';
import type { Collection } from '../api/client.ts';

/** They tell accounts and views from other records. */
export const collectionIcons: Readonly<Record<Collection['type'], LucideIcon>> = {
  base: Table2,
  auth: UsersRound,
  view: Eye,
};

interface CollectionIconProps {
  readonly collection: Collection;
  readonly size?: number;
}

export function CollectionIcon({ collection, size = 15 }: CollectionIconProps) {
  const Icon = collectionIcons[collection.type];
  return <Icon size={size} aria-hidden />;
}
