import type { UseInfiniteQueryResult } from '@tanstack/react-query';

type Pages = Pick<
  UseInfiniteQueryResult,
  'error' | 'refetch' | 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'
>;

/** What a `DataTable` has to know of a list that is read page by page. */
export function pagesOf({ error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage }: Pages) {
  return {
    error,
    onRetry: () => void refetch(),
    more: { isShown: hasNextPage, isBusy: isFetchingNextPage, onMore: () => void fetchNextPage() },
  };
}
