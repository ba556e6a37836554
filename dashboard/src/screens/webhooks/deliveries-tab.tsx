import type { Endpoint } from '../../api/events.ts';
import { DeliveryTable } from '../../parts/delivery-table.tsx';
import { decodeDeliveriesSearch } from '../../parts/event-search.ts';
import type { EndpointSearch } from './webhook-search.ts';

interface DeliveriesTabProps {
  readonly endpoint: Endpoint;
  readonly search: EndpointSearch;
  readonly onSearch: (search: EndpointSearch) => void;
}

/** What the endpoint was sent, the last first. What is filtered by is in the address. */
export function DeliveriesTab({ endpoint, search, onSearch }: DeliveriesTabProps) {
  const { tab, span, replay, ...filters } = search;
  const others = {
    ...(tab !== undefined && { tab }),
    ...(span !== undefined && { span }),
    ...(replay !== undefined && { replay }),
  };
  return (
    <section className="deliveries-tab" aria-label="Deliveries">
      <DeliveryTable
        endpoint={endpoint.id}
        search={decodeDeliveriesSearch(filters)}
        onSearch={({ endpoint: _endpoint, ...next }) => onSearch({ ...others, ...next })}
        noMatch={<p className="data-empty soft">No delivery matches.</p>}
        none={
          <p className="data-empty soft">
            No deliveries yet. Each event the endpoint subscribes to creates one.
          </p>
        }
      />
    </section>
  );
}
