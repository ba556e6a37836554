import { lazy, Suspense, type ComponentProps } from 'react';
import { PlaceholderTab } from './placeholder-tab.tsx';

// Neither belongs to the first table that somebody sees, so they are fetched when one looks at them.
const LazyStory = lazy(async () => ({ default: (await import('./story-tab.tsx')).StoryTab }));
const LazyRelations = lazy(async () => ({ default: (await import('./relations-tab.tsx')).RelationsTab }));

export function StoryTab(props: ComponentProps<typeof LazyStory>) {
  return (
    <Suspense fallback={<PlaceholderTab />}>
      <LazyStory {...props} />
    </Suspense>
  );
}

export function RelationsTab(props: ComponentProps<typeof LazyRelations>) {
  return (
    <Suspense fallback={<PlaceholderTab />}>
      <LazyRelations {...props} />
    </Suspense>
  );
}
