import { getRouteApi } from '@tanstack/react-router';
import SearchX from 'lucide-react/icons/search-x';
import Send from 'lucide-react/icons/send';
import { apiUrl } from '../../api/client.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty, LinkButton } from '../../parts/empty.tsx';
import { AttemptPlot } from '../../parts/plot-webhooks.tsx';
import type { DeliveriesSearch } from '../../parts/event-search.ts';
import { DeliveryTable } from '../../parts/delivery-table.tsx';

const route = getRouteApi('/shell/deliveries');

/** Events on their way to endpoints, and how each stands. */
export function DeliveriesScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const filterBy = (next: DeliveriesSearch): void => void navigate({ search: next, replace: true });
  return (
    <>
      <Bar title="Deliveries" />
      <DeliveryTable
        search={search}
        onSearch={filterBy}
        // A key for some endpoints may not see the figures of all.
        plot={isBoundToEndpoints() ? undefined : <AttemptPlot caption="Attempts, last 24 hours" />}
        none={<NoDeliveries />}
        noMatch={
          <Empty
            icon={SearchX}
            title="No results"
            actions={<Button onClick={() => filterBy({})}>Clear the filters</Button>}
          >
            Deliveries are kept for 30 days by default.
          </Empty>
        }
      />
    </>
  );
}

function NoDeliveries() {
  return (
    <Empty
      icon={Send}
      title="No deliveries yet"
      actions={<LinkButton link={{ to: '/events' }}>Events</LinkButton>}
      code={
        isBoundToEndpoints()
          ? `curl ${apiUrl}/api/webhooks/deliveries \\\n  -H "Authorization: Bearer $KEY"`
          : `curl ${apiUrl}/api/webhooks/endpoints \\\n  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"url": "https://shop.example.com/hook"}'`
      }
    >
      A delivery is one event sent to one endpoint. Add an endpoint, and every event it subscribes to appears
      here.
    </Empty>
  );
}
