import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { mayOpenRecords } from '../api/session.ts';

interface RecordLinkProps {
  readonly collection: string;
  readonly record: string;
  readonly className: string;
  readonly children: ReactNode;
}

/** Leads to the story of a record; its name alone for an API key that may not open it. */
export function RecordLink({ collection, record, className, children }: RecordLinkProps) {
  if (!mayOpenRecords()) return <span>{children}</span>;
  return (
    <Link
      className={className}
      to="/c/$collection"
      params={{ collection }}
      search={{ record, view: 'story' }}
    >
      {children}
    </Link>
  );
}
