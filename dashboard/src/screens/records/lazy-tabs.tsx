import { lazy, Suspense, type ComponentProps } from 'react';

// Neither belongs to the first table that somebody sees, so they are fetched when one looks at them.
const LazyStory = lazy(async () => ({ default: (await import('./story-tab.tsx')).StoryTab }));
const LazyRelations = lazy(async () => ({ default: (await import('./relations-tab.tsx')).RelationsTab }));

export function StoryTab(props: ComponentProps<typeof LazyStory>) {
  return (
    <Suspense fallback={<div className="drawer-body" aria-busy />}>
      <LazyStory {...props} />
    </Suspense>
  );
}

export function RelationsTab(props: ComponentProps<typeof LazyRelations>) {
  return (
    <Suspense fallback={<div className="drawer-body" aria-busy />}>
      <LazyRelations {...props} />
    </Suspense>
  );
}
