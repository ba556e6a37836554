import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Collection } from '../api/client.ts';
import { collectionsQuery, findCollection } from '../api/collections.ts';
import { Bar } from './bar.tsx';
import { CollectionTabs } from './collection-tabs.tsx';
import { CollectionTitle } from './collection-title.tsx';
import { NotFound } from './empty.tsx';
import { FailureNotice } from './notice.tsx';
import { PlaceholderLines } from './placeholder-lines.tsx';

interface CollectionPageProps {
  /** The name or the id, as the address has it. */
  readonly name: string;
  readonly children: (collection: Collection, collections: readonly Collection[]) => ReactNode;
}

/** A screen about one collection: its head with the tabs, and what to say while it loads or when it is not there. */
export function CollectionPage({ name, children }: CollectionPageProps) {
  const { data: collections, error, refetch } = useQuery(collectionsQuery);
  const collection = collections === undefined ? undefined : findCollection(collections, name);
  return (
    <>
      <Bar title={collection === undefined ? name : <CollectionTitle collection={collection} />}>
        <CollectionTabs name={collection?.name ?? name} />
      </Bar>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {collections === undefined && error === null && <PlaceholderLines count={6} />}
      {collections !== undefined && collection === undefined && (
        <NotFound title={`Collection ${name} not found`} link={{ to: '/overview' }} action="Go to overview">
          It may have been renamed or deleted.
        </NotFound>
      )}
      {collection !== undefined && children(collection, collections ?? [])}
    </>
  );
}
