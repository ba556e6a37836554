import { type ComponentProps, lazy, Suspense } from 'react';

// Few screens have them, so they are not in the file of parts that all screens load.
const LazyEndpoints = lazy(async () => ({ default: (await import('./event-endpoints.tsx')).EventEndpoints }));
const LazyNotice = lazy(async () => ({ default: (await import('./event-endpoints.tsx')).UnsentNotice }));

export function EventEndpoints(props: ComponentProps<typeof LazyEndpoints>) {
  return (
    <Suspense fallback={<span className="placeholder" style={{ inlineSize: 220 }} />}>
      <LazyEndpoints {...props} />
    </Suspense>
  );
}

export function UnsentNotice(props: ComponentProps<typeof LazyNotice>) {
  return (
    <Suspense fallback={null}>
      <LazyNotice {...props} />
    </Suspense>
  );
}
