import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import Trash2 from 'lucide-react/icons/trash-2';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { countRecords, deleteCollection, relationsOf } from '../../api/definitions.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';

interface DeleteCollectionProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
}

/** Deletes a collection with its records, once its name is typed. */
export function DeleteCollection({ collection, collections }: DeleteCollectionProps) {
  const [isAsking, setIsAsking] = useState(false);
  const referring = collections.filter(
    (other) =>
      other.id !== collection.id &&
      relationsOf(other).some(({ collectionId }) => collectionId === collection.id),
  );
  return (
    <section className="schema-section" aria-labelledby="delete">
      <div className="schema-section-head">
        <h2 id="delete">Delete the collection</h2>
      </div>
      <p className="soft">
        {referring.length === 0
          ? collection.type === 'view'
            ? 'The records it shows are kept.'
            : 'Its records and their files are deleted, without events.'
          : `Relations of ${referring.map(({ name }) => name).join(', ')} refer to it. Drop those first.`}
      </p>
      <div>
        <Button icon={Trash2} tone="danger" disabled={referring.length > 0} onClick={() => setIsAsking(true)}>
          Delete {collection.name} …
        </Button>
      </div>
      {isAsking && <AskForName collection={collection} onClose={() => setIsAsking(false)} />}
    </section>
  );
}

function AskForName({
  collection,
  onClose,
}: {
  readonly collection: Collection;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { name, id } = collection;
  const { data: count } = useQuery({
    queryKey: ['review', id, 'all'],
    queryFn: async () => countRecords(id, ''),
    staleTime: 0,
  });
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete the collection"
      typed={name}
      isReady={count !== undefined}
      onClose={onClose}
      onConfirm={async () => {
        await deleteCollection(id);
        // At once: whatever counts records would ask for those of a collection that is gone.
        queries.setQueryData(collectionsQuery.queryKey, (all) => all?.filter((one) => one.id !== id));
        await navigate({ to: '/overview' });
        await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
        showToast(`${name} deleted.`);
      }}
    >
      {count === undefined
        ? 'Counting its records …'
        : `${plural(count, 'record')} and their files are permanently deleted. Endpoints are not notified.`}
    </Confirm>
  );
}
