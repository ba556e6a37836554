import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Failure } from '../api/client.ts';
import { restoreAccent } from '../browser/accent.ts';
import { Toasts } from '../parts/toast.tsx';
import { Tooltips } from '../parts/tooltip.tsx';
import { createDashboardRouter } from './router.tsx';

const attemptsMax = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // An answer of the service stays the same; only a lost connection or a busy service is worth another attempt.
      retry: (count, error) =>
        count < attemptsMax && error instanceof Failure && (error.status === 0 || error.status === 503),
      throwOnError: false,
    },
  },
});

restoreAccent();
const router = createDashboardRouter(queries);

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
      <Toasts />
      <Tooltips />
    </QueryClientProvider>
  );
}
