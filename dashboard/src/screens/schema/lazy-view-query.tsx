import { lazy, Suspense } from 'react';
import type { ViewQueryProps } from './view-query.tsx';

const Loaded = lazy(async () => ({ default: (await import('./view-query.tsx')).ViewQuery }));

/** The query of a view, which comes when it is first wanted. */
export function LazyViewQuery(props: ViewQueryProps) {
  return (
    <Suspense fallback={null}>
      <Loaded {...props} />
    </Suspense>
  );
}
