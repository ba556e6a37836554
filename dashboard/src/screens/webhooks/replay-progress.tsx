import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Endpoint } from '../../api/events.ts';
import { cancelReplay, type Replay, replayQuery } from '../../api/replays.ts';
import { mayChangeWebhooks, mayUse } from '../../api/session.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import { deliveries } from '../../parts/delivery-words.ts';
import { Facts } from '../../parts/facts.tsx';
import { Loaded } from '../../parts/loaded.tsx';
import { Time } from '../../parts/time.tsx';

/** How far a replay has come, and its end before it is over. */
export function ReplayProgress({ endpoint, id }: { readonly endpoint: Endpoint; readonly id: string }) {
  const query = useQuery(replayQuery(id));
  return (
    <Loaded query={query} absent={<p className="drawer-form soft">It is no longer in the log.</p>}>
      {(replay) => <Progress endpoint={endpoint} replay={replay} />}
    </Loaded>
  );
}

function Progress({ endpoint, replay }: { readonly endpoint: Endpoint; readonly replay: Replay }) {
  return (
    <>
      <div className="drawer-body">
        <div className="drawer-form">
          <p className="mono wrap">{endpoint.url}</p>
          <State replay={replay} />
          <progress
            className="progress"
            max={Math.max(1, replay.total)}
            value={Math.min(replay.taken, replay.total)}
            aria-label="Sent"
          />
          <Facts
            items={{
              'Started sending': `${replay.taken.toLocaleString()} of ${replay.total.toLocaleString()}`,
              Delivered: replay.delivered.toLocaleString(),
              Failed: replay.failed.toLocaleString(),
              'On their way': replay.pending.toLocaleString(),
              'Left out': replay.scope === 'backfill' && 'Already sent by a later change',
              Filter: replay.filter !== '' && <span className="mono">{replay.filter}</span>,
              Started: <Time value={replay.created} />,
              Id: <span className="mono">{replay.id}</span>,
            }}
          />
          <p className="field-help">
            It continues if you leave this page.
            {mayUse('admin') && ' That it was started is in the audit log.'}
          </p>
        </div>
      </div>
      {replay.state === 'running' && mayChangeWebhooks() && <CancelFoot replay={replay} />}
    </>
  );
}

function State({ replay }: { readonly replay: Replay }) {
  const { state, scope, total, taken, cause } = replay;
  const text = {
    running: scope === 'backfill' ? 'Backfilling' : 'Replaying',
    done: `Done: ${deliveries(scope === 'backfill' ? taken : total)}`,
    cancelled: `Cancelled after ${deliveries(taken)}`,
  }[state];
  const tone = ({ running: 'retrying', done: 'ok', cancelled: 'waiting' } as const)[state];
  return (
    <div role="status">
      <DeliveryBadge tone={tone} text={text} />
      {cause !== '' && <p className="soft">{cause}</p>}
    </div>
  );
}

function CancelFoot({ replay }: { readonly replay: Replay }) {
  const queries = useQueryClient();
  const name = replay.scope === 'backfill' ? 'backfill' : 'replay';
  return (
    <div className="drawer-foot">
      <span className="drawer-foot-note" />
      <ConfirmButton
        label={`Cancel the ${name} …`}
        title={`Cancel this ${name}?`}
        action={`Cancel the ${name}`}
        onConfirm={async () => cancelReplay(queries, replay.id)}
      >
        Unsent deliveries are cancelled. Those in flight finish.
      </ConfirmButton>
    </div>
  );
}
