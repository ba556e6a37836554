import { Link } from '@tanstack/react-router';
import Ban from 'lucide-react/icons/ban';
import type { Event, Surroundings } from '../api/events.ts';
import type { EndpointExplanation, FalseComparison } from '../api/explanations.ts';
import { isBoundToEndpoints, mayChangeWebhooks, mayUse } from '../api/session.ts';
import { Badge } from './badge.tsx';
import { endpointName } from './endpoint-words.ts';
import {
  comparedValues,
  isUnexpected,
  unsentCaveats,
  unsentDetail,
  unsentTitle,
  valueText,
} from './unsent-words.ts';

interface UnsentLineProps {
  readonly explanation: EndpointExplanation;
  readonly event: Event;
  readonly surroundings: Surroundings | undefined;
}

/** Why an endpoint was not sent an event: what of its filter was false, and a link to what to change. */
export function UnsentLine({ explanation, event, surroundings }: UnsentLineProps) {
  const { endpoint: id, name, comparisons } = explanation;
  const endpoint = surroundings?.endpoints.get(id);
  const label = endpoint === undefined ? name || id : endpointName(endpoint);
  const detail = unsentDetail(explanation);
  const hasNotes = detail !== '' || comparisons.length > 0;
  return (
    <li className="endpoint-line">
      <div className="endpoint-line-head">
        <Badge icon={Ban} tone={isUnexpected(explanation) ? 'retrying' : undefined}>
          {unsentTitle(explanation, event)}
        </Badge>
        {endpoint === undefined ? (
          <span className="cut">{label}</span>
        ) : (
          <Link className="link cut" to="/webhooks/$id" params={{ id }} title={endpoint.url}>
            {label}
          </Link>
        )}
      </div>
      <div className="endpoint-line-actions">
        {endpoint !== undefined && <ChangeLink explanation={explanation} event={event} />}
      </div>
      {hasNotes && (
        <div className="endpoint-line-facts">
          {detail !== '' && <p>{detail}</p>}
          {comparisons.map((comparison) => (
            <FalseComparisonLine key={`${comparison.position} ${comparison.text}`} comparison={comparison} />
          ))}
          {unsentCaveats(explanation).map((text) => (
            <p key={text} className="soft">
              {text}
            </p>
          ))}
        </div>
      )}
    </li>
  );
}

function FalseComparisonLine({ comparison }: { readonly comparison: FalseComparison }) {
  const { text, isHidden, isOfNow, sides } = comparison;
  if (isHidden)
    return <p className="soft">Other parts of the filter were false, but you may not read them.</p>;
  const values = comparedValues(comparison);
  return (
    <div className="false-comparison">
      <code>{text}</code>
      {values === undefined ? (
        sides.map((side, index) => (
          // A side may be there twice, with the same text.
          <span key={`${index} ${side.text}`} className="false-values">
            <code>{side.text}</code> <span className="soft">is</span> <code>{valueText(side.values)}</code>
          </span>
        ))
      ) : (
        <span className="false-values">
          <code>{values}</code> <span className="soft">is false{isOfNow ? ', as of now' : ''}</span>
        </span>
      )}
    </div>
  );
}

interface ChangeLinkProps {
  readonly explanation: EndpointExplanation;
  readonly event: Event;
}

/** Leads to what would have to be changed; nothing where that is not in the hands of who looks. */
function ChangeLink({ explanation: { endpoint: id, reason }, event }: ChangeLinkProps) {
  const control = controls[reason];
  const mayChange = mayChangeWebhooks() && !isBoundToEndpoints();
  if (control !== undefined && mayChange)
    return (
      <Link
        className="link"
        to="/webhooks/$id"
        params={{ id }}
        search={{ tab: 'settings' }}
        hash={control.id}
      >
        {control.text}
      </Link>
    );
  if (reason === 'owner' && mayUse('collections:write') && event.collection !== '')
    return (
      <Link
        className="link"
        to="/c/$collection/schema"
        params={{ collection: event.collection }}
        search={{ rule: 'viewRule' }}
      >
        Edit view rule
      </Link>
    );
  if ((reason === 'made-later' || reason === 'changed') && mayChange && mayUse('collections:read'))
    return (
      <Link className="link" to="/webhooks/$id" params={{ id }} search={{ replay: 'backfill' }}>
        Backfill …
      </Link>
    );
  return null;
}

/** What of an endpoint's form is to be changed, by the id of its control. */
const controls: Readonly<
  Partial<Record<EndpointExplanation['reason'], { readonly text: string; readonly id: string }>>
> = {
  filter: { text: 'Edit filter', id: 'endpoint-filter' },
  'filter-unfit': { text: 'Edit filter', id: 'endpoint-filter' },
  'other-events': { text: 'Edit events', id: 'endpoint-events' },
  'other-collections': { text: 'Edit collections', id: 'endpoint-collections' },
};
