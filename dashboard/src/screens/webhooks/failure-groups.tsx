import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import CircleCheck from 'lucide-react/icons/circle-check';
import Send from 'lucide-react/icons/send';
import { useState } from 'react';
import {
  type FailureGroup,
  failureGroupsQuery,
  groupIdsQuery,
  sendGroupAgain,
} from '../../api/failure-groups.ts';
import type { Endpoint } from '../../api/events.ts';
import { mayChangeWebhooks } from '../../api/session.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { deliveries } from '../../parts/delivery-words.ts';
import { FailureNotice, messageOf } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';
import { Time } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';

/** What has not arrived, by its cause: hundreds of failures have few reasons, and each is mended once. */
export function FailureGroups({ endpoint }: { readonly endpoint: Endpoint }) {
  const { data, error, refetch } = useQuery(failureGroupsQuery(endpoint.id));
  return (
    <Section title="Failures by cause" note={data?.isPart === true && 'of the last 1,000'}>
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <span className="placeholder" style={{ inlineSize: 240 }} />}
      {data?.groups.length === 0 && (
        <Badge tone="ok" icon={CircleCheck}>
          No undelivered failures
        </Badge>
      )}
      {data !== undefined && data.groups.length > 0 && (
        <ul className="panel groups">
          {data.groups.map((group) => (
            <GroupRow key={group.cause} endpoint={endpoint} group={group} />
          ))}
        </ul>
      )}
    </Section>
  );
}

interface GroupProps {
  readonly endpoint: Endpoint;
  readonly group: FailureGroup;
}

function GroupRow({ endpoint, group }: GroupProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { cause, count, pending, last } = group;
  return (
    <li className="group">
      <strong className="group-count">{count.toLocaleString()}</strong>
      <div className="group-cause">
        <Link
          className="wrap group-link"
          to="/webhooks/$id"
          params={{ id: endpoint.id }}
          search={{ tab: 'deliveries', cause }}
        >
          {cause}
        </Link>
        <span className="soft small">
          {pending === count
            ? 'all will be retried'
            : pending === 0
              ? 'given up'
              : `${pending.toLocaleString()} will be retried, the others are given up`}
          {', the last from '}
          <Time value={last.created} />
        </span>
      </div>
      {mayChangeWebhooks() && (
        <Button icon={Send} onClick={() => setIsOpen(true)}>
          Retry group …
        </Button>
      )}
      {isOpen && <RetryGroup endpoint={endpoint} group={group} onClose={() => setIsOpen(false)} />}
    </li>
  );
}

function RetryGroup({ endpoint, group, onClose }: GroupProps & { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const { data, error } = useQuery(groupIdsQuery(endpoint.id, group.cause));
  const [sent, setSent] = useState<number>();
  const count = data?.ids.length;
  return (
    <Confirm
      title={count === undefined ? 'Counting …' : `Send ${deliveries(count)} again?`}
      action={count === undefined ? 'Send' : `Send ${deliveries(count)}`}
      tone="primary"
      onClose={onClose}
      onConfirm={async () => {
        if (data === undefined) throw new Error('Not counted yet.');
        await sendGroupAgain(queries, data.ids, setSent);
        showToast(`${deliveries(data.ids.length)} sent again.`);
      }}
    >
      <p className="wrap">{group.cause}</p>
      {error !== null && <p>{messageOf(error)}</p>}
      {data !== undefined && (
        <p>
          {deliveries(data.ids.length)} to <span className="mono wrap">{endpoint.url}</span>, under the same{' '}
          <span className="mono">webhook-id</span>, so the receiver can detect duplicates.
          {data.total > data.ids.length &&
            ` These are the oldest of ${deliveries(data.total)}; a replay sends them all.`}
        </p>
      )}
      {sent !== undefined && count !== undefined && (
        <progress className="progress" max={count} value={sent} aria-label="Sent again" />
      )}
    </Confirm>
  );
}
