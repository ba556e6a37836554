import X from 'lucide-react/icons/x';
import type { Surroundings } from '../../api/events.ts';
import { Button } from '../../parts/button.tsx';
import { deliveryStatuses, statusNames } from '../../parts/delivery-words.ts';
import { endpointName } from '../../parts/endpoint-words.ts';
import { decodeDeliveriesSearch, type DeliveriesSearch } from './delivery-search.ts';

interface DeliveryFiltersProps {
  readonly search: DeliveriesSearch;
  readonly surroundings: Surroundings | undefined;
  readonly onChange: (search: DeliveriesSearch) => void;
}

export function DeliveryFilters({ search, surroundings, onChange }: DeliveryFiltersProps) {
  const set = (name: keyof DeliveriesSearch, value: string): void =>
    onChange(decodeDeliveriesSearch({ ...search, [name]: value }));
  const endpoints = [...(surroundings?.endpoints.values() ?? [])];
  return (
    <search className="event-filters" aria-label="Filter deliveries">
      <select
        className="input"
        aria-label="Status"
        value={search.status ?? ''}
        onChange={(event) => set('status', event.target.value)}
      >
        <option value="">All statuses</option>
        {deliveryStatuses.map((status) => (
          <option key={status} value={status}>
            {statusNames[status]}
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="Endpoint"
        value={search.endpoint ?? ''}
        onChange={(event) => set('endpoint', event.target.value)}
      >
        <option value="">All endpoints</option>
        {endpoints.map((endpoint) => (
          <option key={endpoint.id} value={endpoint.id}>
            {endpointName(endpoint)}
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="Time"
        value={search.from ?? ''}
        onChange={(event) => set('from', event.target.value)}
      >
        <option value="">Any time</option>
        <option value="1h">Last hour</option>
        <option value="24h">Last 24 hours</option>
        <option value="7d">Last 7 days</option>
      </select>
      {Object.keys(search).length > 0 && (
        <Button tone="quiet" onClick={() => onChange({})}>
          <X size={14} aria-hidden />
          Clear
        </Button>
      )}
    </search>
  );
}
