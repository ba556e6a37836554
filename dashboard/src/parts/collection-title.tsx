import type { Collection } from '../api/client.ts';
import { CollectionIcon } from './collection-icon.tsx';

/** What the head of a screen about a collection calls it. */
export function CollectionTitle({ collection }: { readonly collection: Collection }) {
  return (
    <>
      <CollectionIcon collection={collection} size={16} />
      <span className="cut">{collection.name}</span>
    </>
  );
}
