import Eye from 'lucide-react/icons/eye';
import Table2 from 'lucide-react/icons/table-2';
import UsersRound from 'lucide-react/icons/users-round';
import type { Collection } from '../api/client.ts';

/** Tells accounts and views from other records. */
export function CollectionIcon({
  collection,
  size = 15,
}: {
  readonly collection: Collection;
  readonly size?: number;
}) {
  const Icon = collection.type === 'auth' ? UsersRound : collection.type === 'view' ? Eye : Table2;
  return <Icon size={size} aria-hidden />;
}
