import { useQuery } from '@tanstack/react-query';
import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import CirclePause from 'lucide-react/icons/circle-pause';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { endpointsQuery, healthQuery } from '../../api/last-day.ts';
import { plural } from '../../parts/time.tsx';

interface Concern {
  readonly key: string;
  readonly tone: 'failed' | 'retrying' | 'waiting';
  readonly text: string;
}

const icons = { failed: CircleAlert, retrying: TriangleAlert, waiting: CirclePause };

/** What somebody should look at; where there is nothing, it says so, as silence may also mean that nobody has looked. */
export function Concerns() {
  const concerns = useConcerns();
  if (concerns === undefined)
    return <span className="placeholder" style={{ inlineSize: 220, blockSize: 14 }} />;
  if (concerns.length === 0)
    return (
      <p className="badge" data-tone="ok">
        <CircleCheck size={15} aria-hidden />
        Nothing needs attention
      </p>
    );
  return (
    <section className="section" aria-labelledby="attention">
      <div className="section-head">
        <h2 id="attention">Needs attention</h2>
      </div>
      <ul className="panel concerns">
        {concerns.map(({ key, tone, text }) => {
          const Icon = icons[tone];
          return (
            <li key={key} className="concern">
              <span className="badge" data-tone={tone}>
                <Icon size={15} aria-hidden />
              </span>
              {text}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** From the worst on. Undefined as long as the answers are on their way. */
function useConcerns(): readonly Concern[] | undefined {
  const { data: health } = useQuery(healthQuery);
  const { data: endpoints } = useQuery(endpointsQuery);
  if (health === undefined || endpoints === undefined) return undefined;
  const { exhaustedLastDay = 0, warnings = [] } = health;
  const exhausted: readonly Concern[] =
    exhaustedLastDay === 0
      ? []
      : [
          {
            key: 'exhausted',
            tone: 'failed',
            text: `${plural(exhaustedLastDay, 'delivery').replace('deliverys', 'deliveries')} of the last 24 hours failed for good.`,
          },
        ];
  const stopped = endpoints
    .filter(({ status }) => status !== 'active')
    .map(({ id, url, status, statusReason }): Concern => ({
      key: id,
      tone: status === 'disabled' ? 'failed' : 'waiting',
      text: `${url} is ${status}${statusReason === '' ? '' : `: ${statusReason}`}`,
    }));
  const told = warnings.map((text): Concern => ({ key: text, tone: 'retrying', text }));
  return [...exhausted, ...stopped, ...told].toSorted(
    (a, b) => order.indexOf(a.tone) - order.indexOf(b.tone),
  );
}

const order: readonly Concern['tone'][] = ['failed', 'retrying', 'waiting'];
