import { useQuery } from '@tanstack/react-query';
import { webhookStatsQuery } from '../api/endpoints.ts';
import { Plot } from './plot.tsx';

/** The events of the last 24 hours, by hours. */
export function EventPlot({ caption }: { readonly caption: string }) {
  const { data: stats } = useQuery(webhookStatsQuery);
  const series = [{ name: 'events', tone: 'accent', values: stats?.columns.events ?? [] }] as const;
  return <Plot caption={caption} kind="bars" step="hour" times={stats?.times} series={series} />;
}

/** What became of the attempts of the last 24 hours, by hours. */
export function AttemptPlot({ caption }: { readonly caption: string }) {
  const { data: stats } = useQuery(webhookStatsQuery);
  const series = [
    { name: 'delivered', tone: 'ok', values: stats?.columns.delivered ?? [] },
    { name: 'failed', tone: 'failed', values: stats?.columns.failed ?? [] },
  ] as const;
  return <Plot caption={caption} kind="bars" step="hour" times={stats?.times} series={series} />;
}
