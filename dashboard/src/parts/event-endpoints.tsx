import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Delivery, Event, Surroundings } from '../api/events.ts';
import { type EndpointExplanation, explanationQuery } from '../api/explanations.ts';
import { mayChangeWebhooks } from '../api/session.ts';
import { DeliveryLine } from './delivery-line.tsx';
import { type DeliveryTone, explainDelivery } from './delivery-words.ts';
import { MoreRows } from './more-rows.tsx';
import { endpointLabel } from './endpoint-words.ts';
import { FailureNotice, Notice } from './notice.tsx';
import { plural } from './time.tsx';
import { UnsentLine } from './unsent-line.tsx';
import { isUnexpected, unsentRank, unsentTitle } from './unsent-words.ts';
import { useSeen } from './use-seen.ts';

interface EventEndpointsProps {
  readonly event: Event;
  readonly surroundings: Surroundings | undefined;
}

/** One line for each endpoint: what failed and what was not sent first, each with its reason, and what was delivered folded. */
export function EventEndpoints({ event, surroundings }: EventEndpointsProps) {
  const [place, isSeen] = useSeen();
  const options = explanationQuery(event);
  const why = useInfiniteQuery({ ...options, enabled: options.enabled === true && isSeen });
  const unsent = why.data?.pages.flatMap(({ items }) => items).filter(({ isSent }) => !isSent) ?? [];
  const delivered = event.deliveries.filter(({ status }) => status === 'delivered');
  const lines = linesOf({ event, surroundings }, unsent);
  return (
    <div className="event-endpoints" ref={place}>
      {why.isError && <FailureNotice error={why.error} onRetry={() => void why.refetch()} />}
      <Lines lines={lines} event={event} surroundings={surroundings} />
      {why.isLoading && <span className="placeholder" style={{ inlineSize: 220 }} />}
      <MoreRows
        label="Show more endpoints"
        isShown={why.hasNextPage}
        isBusy={why.isFetchingNextPage}
        onMore={() => void why.fetchNextPage()}
      />
      {delivered.length > 0 && (
        <details className="event-delivered">
          <summary>{delivered.length.toLocaleString()} delivered</summary>
          <ul className="panel endpoint-lines" aria-label="Delivered">
            {delivered.map((delivery) => (
              <DeliveryLine key={delivery.id} delivery={delivery} surroundings={surroundings} />
            ))}
          </ul>
        </details>
      )}
      {why.isSuccess && lines.length === 0 && delivered.length === 0 && <NoEndpoints />}
    </div>
  );
}

/** A delivery that has not arrived, or why there is none. */
type Line =
  | { readonly kind: 'delivery'; readonly rank: number; readonly delivery: Delivery }
  | { readonly kind: 'unsent'; readonly rank: number; readonly explanation: EndpointExplanation };

const deliveryRanks: Readonly<Record<DeliveryTone, number>> = { failed: 0, retrying: 2, waiting: 3, ok: 3 };
/** By `unsentRank`: an unexpected reason stands behind what failed. */
const unsentRanks = [1, 3, 4, 5];

function linesOf(
  { event, surroundings }: EventEndpointsProps,
  unsent: readonly EndpointExplanation[],
): readonly Line[] {
  const open = event.deliveries
    .filter(({ status }) => status !== 'delivered')
    .map((delivery): Line => {
      const { tone } = explainDelivery(delivery, surroundings);
      return { kind: 'delivery', rank: deliveryRanks[tone], delivery };
    });
  const others = unsent.map((explanation): Line => {
    const rank = unsentRanks[unsentRank(explanation)] ?? unsentRanks.length;
    return { kind: 'unsent', rank, explanation };
  });
  return [...open, ...others].toSorted((one, other) => one.rank - other.rank);
}

const shownMax = 6;

function Lines({ lines, event, surroundings }: EventEndpointsProps & { readonly lines: readonly Line[] }) {
  const [isWhole, setIsWhole] = useState(false);
  if (lines.length === 0) return null;
  // One more line takes no more room than the button.
  const shown = isWhole || lines.length <= shownMax + 1 ? lines : lines.slice(0, shownMax);
  return (
    <>
      <ul className="panel endpoint-lines" aria-label="Not delivered">
        {shown.map((line) =>
          line.kind === 'delivery' ? (
            <DeliveryLine key={line.delivery.id} delivery={line.delivery} surroundings={surroundings} />
          ) : (
            <UnsentLine
              key={line.explanation.endpoint}
              explanation={line.explanation}
              event={event}
              surroundings={surroundings}
            />
          ),
        )}
      </ul>
      {shown.length < lines.length && (
        <button type="button" className="link event-more" onClick={() => setIsWhole(true)}>
          Show {plural(lines.length - shown.length, 'more endpoint')}
        </button>
      )}
    </>
  );
}

/** Names who was not sent an event although somebody may have expected it; nothing where there is no such endpoint. */
export function UnsentNotice({ event, surroundings }: EventEndpointsProps) {
  const { data: why } = useInfiniteQuery(explanationQuery(event));
  const unsent = why?.pages.flatMap(({ items }) => items).filter(isUnexpected) ?? [];
  const [first] = unsent;
  if (first === undefined) return null;
  const names =
    unsent.length === 1 ? endpointLabel(first.endpoint, surroundings) : plural(unsent.length, 'endpoint');
  const [title = '', ...titles] = new Set(unsent.map((one) => unsentTitle(one, event).toLowerCase()));
  return (
    <Notice tone="retrying">
      The last change was not sent to {names}
      {titles.length === 0 && `: ${title}`}.
    </Notice>
  );
}

function NoEndpoints() {
  return (
    <p className="soft small">
      No endpoints yet.{' '}
      {mayChangeWebhooks() && (
        <Link className="link" to="/webhooks" search={{ create: 'yes' }}>
          Create endpoint
        </Link>
      )}
    </p>
  );
}
