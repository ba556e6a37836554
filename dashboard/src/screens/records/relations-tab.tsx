import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import ArrowRight from 'lucide-react/icons/arrow-right';
import ArrowLeft from 'lucide-react/icons/arrow-left';
import { client, type Collection, type RecordModel } from '../../api/client.ts';
import type { FieldOf } from '../../api/collections.ts';
import { recordCountQuery } from '../../api/records.ts';
import { CollectionIcon } from '../../parts/collection-icon.tsx';
import { plural } from '../../parts/time.tsx';
import { RelatedRecords } from './related-records.tsx';

interface RelationsTabProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly record: RecordModel;
}

/** What a record is connected with: the records that it names, and those that name it. */
export function RelationsTab(props: RelationsTabProps) {
  return (
    <div className="drawer-body">
      <div className="drawer-form">
        <section className="section" aria-labelledby="points-to">
          <h3 id="points-to" className="relations-title">
            <ArrowRight size={14} aria-hidden />
            Points to
          </h3>
          <PointsTo {...props} />
        </section>
        <section className="section" aria-labelledby="pointed-at">
          <h3 id="pointed-at" className="relations-title">
            <ArrowLeft size={14} aria-hidden />
            Referenced by
          </h3>
          <PointedAt {...props} />
        </section>
      </div>
    </div>
  );
}

function PointsTo({ collection, collections, record }: RelationsTabProps) {
  const targets = relationsOf(collection).flatMap((field) => {
    const target = collections.find(({ id }) => id === field.collectionId);
    const ids = idsOf(record[field.name]);
    return target === undefined || ids.length === 0 ? [] : [{ field, target, ids }];
  });
  if (targets.length === 0) return <p className="soft">This record has no relations.</p>;
  return (
    <ul className="relations">
      {targets.map(({ field, target, ids }) => (
        <li key={field.id} className="relations-group">
          <div className="relations-head">
            <span>{field.name}</span>
            <span className="soft">{plural(ids.length, 'record')}</span>
          </div>
          <RelatedRecords target={target} ids={ids.slice(0, shownMax)}>
            {ids.length > shownMax && <span className="faint">and {ids.length - shownMax} more</span>}
          </RelatedRecords>
        </li>
      ))}
    </ul>
  );
}

const shownMax = 20;

/** Each field of another collection that may name this record, with how many do, and a link to them. */
function PointedAt({ collection, collections, record }: RelationsTabProps) {
  const sources = collections.flatMap((source) =>
    relationsOf(source)
      .filter(({ collectionId }) => collectionId === collection.id)
      .map((field) => ({ source, field, filter: filterOf(field, record.id) })),
  );
  const counts = useQueries({
    queries: sources.map(({ source, filter }) => recordCountQuery({ collection: source.name, filter })),
  });
  if (sources.length === 0) return <p className="soft">No collection has a relation to {collection.name}.</p>;
  return (
    <ul className="relations">
      {sources.map(({ source, field, filter }, index) => (
        <li key={`${source.id}/${field.id}`} className="relations-group">
          <Link
            className="relations-link"
            to="/c/$collection"
            params={{ collection: source.name }}
            search={{ filter }}
          >
            <CollectionIcon collection={source} />
            <span className="cut">
              {source.name} <span className="faint">by {field.name}</span>
            </span>
            <span className="relations-count">{counts[index]?.data?.toLocaleString() ?? '…'}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function relationsOf({ fields }: Collection): readonly FieldOf<'relation'>[] {
  return fields.filter((field) => field.type === 'relation');
}

/** A field with several relations matches by any of them. */
function filterOf({ name, maxSelect }: FieldOf<'relation'>, id: string): string {
  return client.filter(`${name}${maxSelect > 1 ? ':each ?=' : ' ='} {:id}`, { id });
}

function idsOf(value: unknown): readonly string[] {
  return [value ?? []]
    .flat()
    .map(String)
    .filter((id) => id !== '');
}
