import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from '../api/client.ts';
import { FailureNotice } from './notice.tsx';

interface LoadedProps<Data> {
  readonly query: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>;
  /** What stands there where the service knows nothing of it. */
  readonly absent: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Whether the service knows nothing of what was asked for. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Failure && error.status === 404;
}

/** A page about one thing: what to say while it loads, when it is not there, and why it could not be loaded. */
export function Loaded<Data>({ query: { data, error, refetch }, absent, children }: LoadedProps<Data>) {
  if (isAbsent(error)) return absent;
  if (data !== undefined) return children(data);
  return (
    <div className="detail-page" aria-busy={error === null}>
      {error === null ? (
        [320, 240, 280, 200].map((inlineSize) => (
          <span key={inlineSize} className="placeholder" style={{ inlineSize }} />
        ))
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </div>
  );
}
