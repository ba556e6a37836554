import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { basePath } from '../api/client.ts';
import { collectionsQuery } from '../api/collections.ts';
import { decodeDeliverySearch } from '../screens/deliveries/delivery-search.ts';
import { decodeDeliveriesSearch, decodeEventSearch } from '../parts/event-search.ts';
import { isSignedIn, mayUse } from '../api/session.ts';
import { decodeOperatorSearch } from '../screens/operator/operator-search.ts';
import { decodeLogSearch } from '../screens/logs/log-search.ts';
import { decodeRecordSearch } from '../screens/records/record-search.ts';
import { decodeSettingsSearch } from '../screens/settings/settings-search.ts';
import { decodeApiSearch } from '../screens/collection-api/api-search.ts';
import { decodeSchemaSearch } from '../screens/schema/schema-search.ts';
import { decodeEndpointSearch, decodeWebhooksSearch } from '../screens/webhooks/webhook-search.ts';
import { LostPage, FailedPage } from './failed-page.tsx';
import { followMailLink } from './follow-mail-link.ts';
import { mayOpen } from './may-open.ts';
import { Shell } from './shell.tsx';

interface RouterContext {
  readonly queries: QueryClient;
}

const rootRoute = createRootRouteWithContext<RouterContext>()({ component: Outlet });

interface LoginSearch {
  /** The path to go on to. */
  readonly next?: string;
  /** Sign in with an API key. */
  readonly with?: 'key';
  /** The session was over, which nobody wanted. */
  readonly expired?: string;
}

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: ({ next, expired, with: means }: Record<string, unknown>): LoginSearch => ({
    ...(means === 'key' && { with: means }),
    // A path of ours only: a link must not send people elsewhere.
    ...(typeof next === 'string' && /^\/(?![/\\])/.test(next) && { next }),
    ...(typeof expired === 'string' && { expired }),
  }),
  component: lazyRouteComponent(async () => import('../screens/login/login-screen.tsx'), 'LoginScreen'),
});

const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyRouteComponent(async () => import('../screens/setup/setup-screen.tsx'), 'SetupScreen'),
});

/** The token of a link that signs in once. */
let linkToken = '';

/**
 * Takes the token out of the address, which must not stay in the history with it. Done before there is a router: that hears of each change of the
 * address, and would follow the link again.
 */
function takeLinkToken(): void {
  if (![`${basePath}link`, `${basePath}portal`].includes(location.pathname)) return;
  linkToken = location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
}

/** Where a link leads that signs a superuser in once. Its token is behind the `#`, which browsers send to nobody. */
const linkRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/link',
  beforeLoad: async () => {
    const { signInWithLink } = await import('../api/sign-in.ts');
    await signInWithLink(linkToken).catch(() =>
      redirect({
        throw: true,
        to: '/login',
        search: { expired: 'link' },
        replace: true,
      }),
    );
    redirect({ throw: true, to: '/', replace: true });
  },
});

/** Where a link leads that signs a customer in to a portal. */
const portalRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/portal',
  beforeLoad: async () => {
    const { openPortal } = await import('../api/sign-in.ts');
    await openPortal(linkToken).catch(() =>
      redirect({ throw: true, to: '/login', search: { expired: 'portal' }, replace: true }),
    );
    redirect({ throw: true, to: '/', replace: true });
  },
});

/** Where the links in mails to accounts lead; `follow-mail-link.ts` has the form that their templates have. */
const accountScreen = lazyRouteComponent(
  async () => import('../screens/account-pages/account-screen.tsx'),
  'AccountScreen',
);
const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/auth/$action',
  component: accountScreen,
});
const accountTokenRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/auth/$action/$token',
  component: accountScreen,
});

/** Everything for those who have signed in. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: ({ location }) => {
    if (isSignedIn()) {
      if (location.pathname !== '/' && !mayOpen(location.pathname))
        redirect({ throw: true, to: '/key', replace: true });
      return;
    }
    const next = location.pathname + location.searchStr;
    redirect({ throw: true, to: '/login', search: next === '/' ? {} : { next }, replace: true });
  },
  // Begun here, beside the code of the screen, rather than once that is there.
  loader: ({ context }) => {
    if (mayUse('collections:read')) void context.queries.prefetchQuery(collectionsQuery);
  },
  component: Shell,
});

const indexRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  beforeLoad: () => {
    const first = (['/overview', '/webhooks'] as const).find(mayOpen);
    redirect({ throw: true, to: first ?? '/key', replace: true });
  },
});

const keyRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/key',
  component: lazyRouteComponent(async () => import('../screens/key/key-screen.tsx'), 'KeyScreen'),
});

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/overview',
  component: lazyRouteComponent(
    async () => import('../screens/overview/overview-screen.tsx'),
    'OverviewScreen',
  ),
});

const recordsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/c/$collection',
  validateSearch: decodeRecordSearch,
  component: lazyRouteComponent(async () => import('../screens/records/records-screen.tsx'), 'RecordsScreen'),
});

const eventsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/events',
  validateSearch: decodeEventSearch,
  component: lazyRouteComponent(async () => import('../screens/events/events-screen.tsx'), 'EventsScreen'),
});

const eventRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/events/$id',
  component: lazyRouteComponent(async () => import('../screens/events/event-screen.tsx'), 'EventScreen'),
});

const deliveriesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/deliveries',
  validateSearch: decodeDeliveriesSearch,
  component: lazyRouteComponent(
    async () => import('../screens/deliveries/deliveries-screen.tsx'),
    'DeliveriesScreen',
  ),
});

const deliveryRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/deliveries/$id',
  validateSearch: decodeDeliverySearch,
  component: lazyRouteComponent(
    async () => import('../screens/deliveries/delivery-screen.tsx'),
    'DeliveryScreen',
  ),
});

const logsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/logs',
  validateSearch: decodeLogSearch,
  component: lazyRouteComponent(async () => import('../screens/logs/logs-screen.tsx'), 'LogsScreen'),
});

const settingsIndexRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  beforeLoad: () => {
    redirect({ throw: true, to: '/settings/$section', params: { section: 'general' }, replace: true });
  },
});

const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings/$section',
  validateSearch: decodeSettingsSearch,
  component: lazyRouteComponent(
    async () => import('../screens/settings/settings-screen.tsx'),
    'SettingsScreen',
  ),
});

const schemaRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/c/$collection/schema',
  validateSearch: decodeSchemaSearch,
  component: lazyRouteComponent(async () => import('../screens/schema/schema-screen.tsx'), 'SchemaScreen'),
});

const newCollectionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/new-collection',
  component: lazyRouteComponent(
    async () => import('../screens/schema/new-collection-screen.tsx'),
    'NewCollectionScreen',
  ),
});

const collectionApiRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/c/$collection/api',
  validateSearch: decodeApiSearch,
  component: lazyRouteComponent(async () => import('../screens/collection-api/api-screen.tsx'), 'ApiScreen'),
});

/** Whether collections of the service itself are shown as well. */
const decodeSystemSearch = ({ system }: Record<string, unknown>): { readonly system?: 'shown' } =>
  system === 'shown' ? { system } : {};

const diagramRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/diagram',
  validateSearch: decodeSystemSearch,
  component: lazyRouteComponent(async () => import('../screens/diagram/diagram-screen.tsx'), 'DiagramScreen'),
});

const rulesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/rules',
  validateSearch: decodeSystemSearch,
  component: lazyRouteComponent(async () => import('../screens/rules/rules-screen.tsx'), 'RulesScreen'),
});

const webhooksRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/webhooks',
  validateSearch: decodeWebhooksSearch,
  component: lazyRouteComponent(
    async () => import('../screens/webhooks/webhooks-screen.tsx'),
    'WebhooksScreen',
  ),
});

const endpointRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/webhooks/$id',
  validateSearch: decodeEndpointSearch,
  component: lazyRouteComponent(
    async () => import('../screens/webhooks/endpoint-screen.tsx'),
    'EndpointScreen',
  ),
});

/** Everything for those with an operator key. */
const operatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator',
  validateSearch: decodeOperatorSearch,
  beforeLoad: async ({ location }) => {
    // Loaded here, as the dashboards of instances have no use for it.
    const { currentKey } = await import('../api/operator-session.ts');
    if (currentKey() !== undefined) return;
    const next = location.pathname + location.searchStr;
    redirect({ throw: true, to: '/operator/login', search: { next }, replace: true });
  },
  component: lazyRouteComponent(async () => import('./operator-shell.tsx'), 'OperatorShell'),
});

const operatorLoginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/login',
  validateSearch: decodeOperatorSearch,
  component: lazyRouteComponent(
    async () => import('../screens/operator/operator-login-screen.tsx'),
    'OperatorLoginScreen',
  ),
});

const operatorIndexRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/',
  beforeLoad: () => {
    redirect({ throw: true, to: '/operator/$section', params: { section: 'instances' }, replace: true });
  },
});

const operatorScreen = lazyRouteComponent(
  async () => import('../screens/operator/operator-screen.tsx'),
  'OperatorScreen',
);
const operatorSectionRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/$section',
  component: operatorScreen,
});
const operatorInstanceRoute = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/instances/$instance',
  component: operatorScreen,
});

const routeTree = rootRoute.addChildren([
  operatorLoginRoute,
  operatorRoute.addChildren([operatorIndexRoute, operatorSectionRoute, operatorInstanceRoute]),
  loginRoute,
  setupRoute,
  linkRoute,
  portalRoute,
  accountRoute,
  accountTokenRoute,
  shellRoute.addChildren([
    indexRoute,
    keyRoute,
    overviewRoute,
    recordsRoute,
    eventsRoute,
    eventRoute,
    deliveriesRoute,
    deliveryRoute,
    logsRoute,
    settingsIndexRoute,
    settingsRoute,
    schemaRoute,
    collectionApiRoute,
    newCollectionRoute,
    diagramRoute,
    rulesRoute,
    webhooksRoute,
    endpointRoute,
  ]),
]);

export function createDashboardRouter(queries: QueryClient) {
  followMailLink();
  takeLinkToken();
  return createRouter({
    routeTree,
    basepath: basePath.replace(/\/$/, ''),
    context: { queries },
    // Plain texts, as people write links by hand, too: `?filter=price>10` and not JSON.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
      const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
      return text === '' ? '' : `?${text}`;
    },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultNotFoundComponent: LostPage,
    defaultErrorComponent: FailedPage,
  });
}
