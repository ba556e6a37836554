import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { webhookStatsQuery } from '../../api/endpoints.ts';
import { FailureNotice } from '../../parts/notice.tsx';
import { percent } from '../../parts/percent.ts';
import { AttemptPlot, EventPlot } from '../../parts/plot-webhooks.tsx';
import { Section } from '../../parts/section.tsx';
import { plural } from '../../parts/time.tsx';

/** What has happened to records in a day, and whether those who wanted to know were told. */
export function WebhookPlots() {
  const { data: stats, error, refetch } = useQuery(webhookStatsQuery);
  return (
    <Section
      title={
        <Link className="concern-link" to="/webhooks">
          Webhooks
        </Link>
      }
      note={`the last 24 hours, by hour${
        stats === undefined || stats.total.attempts === 0
          ? ''
          : `: ${percent(stats.total.successRate)} of ${plural(stats.total.attempts, 'attempt')} delivered`
      }`}
    >
      {error === null ? (
        <div className="plots">
          <EventPlot caption="Events" />
          <AttemptPlot caption="Attempts" />
        </div>
      ) : (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}
