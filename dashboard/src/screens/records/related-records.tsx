import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import X from 'lucide-react/icons/x';
import type { ReactNode } from 'react';
import type { Collection } from '../../api/client.ts';
import { recordsByIdQuery } from '../../api/records.ts';
import { IconButton } from '../../parts/button.tsx';
import { CollectionIcon } from '../../parts/collection-icon.tsx';
import { recordLabel } from './cell-value.tsx';

interface RelatedRecordsProps {
  readonly target: Collection;
  readonly ids: readonly string[];
  readonly onRemove?: (id: string) => void;
  /** Behind all. */
  readonly children?: ReactNode;
}

/** Records as links, by what presents them. One that was deleted shows its id. */
export function RelatedRecords({ target, ids, onRemove, children }: RelatedRecordsProps) {
  const { data = [] } = useQuery({
    ...recordsByIdQuery(target.name, ids),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  if (ids.length === 0) return null;
  return (
    <div className="relation-list">
      {ids.map((id) => {
        const record = data.find((one) => one.id === id);
        const label = record === undefined ? '' : recordLabel(target, record);
        const place = {
          to: '/c/$collection',
          params: { collection: target.name },
          search: { record: id },
        } as const;
        return (
          <span key={id} className="chip">
            <CollectionIcon collection={target} size={13} />
            <Link {...place} className={label === '' ? 'cut mono' : 'cut'} title={`${target.name} / ${id}`}>
              {label || id}
            </Link>
            {onRemove !== undefined && (
              <IconButton small label={`Remove ${label || id}`} icon={X} onClick={() => onRemove(id)} />
            )}
          </span>
        );
      })}
      {children}
    </div>
  );
}
