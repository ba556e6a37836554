import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { retriesQuery } from '../../api/audit.ts';
import { deliveryQuery } from '../../api/deliveries.ts';
import { type Delivery, eventQuery, useSurroundings } from '../../api/events.ts';
import { mayUse } from '../../api/session.ts';
import { useKeys } from '../../browser/keys.ts';
import { Bar } from '../../parts/bar.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { explainDelivery, eventTitle } from '../../parts/delivery-words.ts';
import { NotFound } from '../../parts/empty.tsx';
import { Facts } from '../../parts/facts.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';
import { TabList } from '../../parts/tab-list.tsx';
import { Time } from '../../parts/time.tsx';
import type { DeliveryTab } from './delivery-search.ts';
import { DeliverySummary } from './delivery-summary.tsx';
import { RequestTab } from './request-tab.tsx';
import { ResponseTab } from './response-tab.tsx';
import { SignatureTab } from './signature-tab.tsx';
import { Timeline } from './timeline.tsx';

const route = getRouteApi('/shell/deliveries/$id');

/** One event on its way to one endpoint: every attempt, what was sent, and what came back. */
export function DeliveryScreen() {
  const { id } = route.useParams();
  const query = useQuery(deliveryQuery(id));
  return (
    <>
      <Bar
        title={query.data === undefined ? 'Delivery' : `Delivery: ${titleOf(query.data)}`}
        aside={<CopyButton text={id} label="Copy the id of the delivery" />}
      />
      <div className="detail">
        <Loaded query={query} absent={<NoDelivery id={id} />}>
          {(delivery) => <DeliveryPage delivery={delivery} />}
        </Loaded>
      </div>
    </>
  );
}

function NoDelivery({ id }: { readonly id: string }) {
  return (
    <NotFound title="Delivery not found" link={{ to: '/events' }} action="Go to events">
      <span className="mono">{id}</span> is not in the log. Deliveries are kept for 30 days by default.
    </NotFound>
  );
}

function titleOf({ kind, collection }: Delivery): string {
  const title = eventTitle({ kind, collection });
  return `${title.slice(0, 1).toLowerCase()}${title.slice(1)}`;
}

const tabs: readonly { readonly name: DeliveryTab; readonly label: string }[] = [
  { name: 'response', label: 'Response' },
  { name: 'request', label: 'Request' },
  { name: 'event', label: 'Event' },
  { name: 'signature', label: 'Signature' },
];

function DeliveryPage({ delivery }: { readonly delivery: Delivery }) {
  const surroundings = useSurroundings();
  const { number, select, tab, view } = useAddress(delivery);
  const attempt = delivery.attempts.find((one) => one.number === number);
  const explanation = explainDelivery(delivery, surroundings);
  const { data: retries = [] } = useQuery({ ...retriesQuery(delivery.id), enabled: mayUse('admin') });
  useAttemptKeys(delivery, number, select);
  return (
    <div className="detail-page delivery-page">
      <DeliverySummary delivery={delivery} explanation={explanation} surroundings={surroundings} />
      <div className="delivery-columns">
        <Section title="Attempts">
          <Timeline
            delivery={delivery}
            next={explanation.next}
            retries={retries}
            selected={number}
            onSelect={select}
          />
        </Section>
        <section className="section delivery-panel" aria-label="Details">
          <TabList label="View" tabs={tabs} selected={tab} onSelect={view} />
          <div className="delivery-tab" role="tabpanel" aria-label={tab}>
            {tab === 'response' && <ResponseTab attempt={attempt} />}
            {tab === 'request' && (
              <RequestTab delivery={delivery} attempt={attempt} surroundings={surroundings} />
            )}
            {tab === 'event' && <EventTab delivery={delivery} />}
            {tab === 'signature' && (
              <SignatureTab
                key={attempt?.number}
                delivery={delivery}
                attempt={attempt}
                isEndpointThere={surroundings?.endpoints.has(delivery.endpoint) === true}
              />
            )}
          </div>
        </section>
      </div>
    </div>
  );
}

function useAddress({ attempts }: Delivery) {
  const { attempt, tab = 'response' } = route.useSearch();
  const navigate = route.useNavigate();
  return {
    number: (attempts.find((one) => String(one.number) === attempt) ?? attempts.at(-1))?.number,
    tab,
    select: (number: number): void =>
      void navigate({ search: (before) => ({ ...before, attempt: String(number) }), replace: true }),
    view: (next: DeliveryTab): void =>
      void navigate({ search: (before) => ({ ...before, tab: next }), replace: true }),
  };
}

/** The newest attempt is the first of the list, so `j` goes to the one before. */
function useAttemptKeys(
  { attempts }: Delivery,
  number: number | undefined,
  select: (number: number) => void,
): void {
  const move = (step: number) => (): void => {
    const at = attempts.findIndex((one) => one.number === number);
    const next = attempts[at + step];
    if (next !== undefined) select(next.number);
  };
  useKeys({ j: move(-1), k: move(1) });
}

function EventTab({ delivery }: { readonly delivery: Delivery }) {
  const { data: event, error, refetch } = useQuery(eventQuery(delivery.event));
  if (error !== null) return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <Facts
        items={{
          Event: (
            <Link className="link mono" to="/events/$id" params={{ id: delivery.event }}>
              {delivery.event}
            </Link>
          ),
          When: <Time value={delivery.created} />,
        }}
      />
      {event !== undefined && (
        <div className="panel">
          <JsonView value={event.body} />
        </div>
      )}
    </>
  );
}
