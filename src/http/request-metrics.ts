import { type Metric, type Sample, single } from '../logs/metric.ts';
import type { RequestCounts } from './request-counts.ts';

/** What is counted of requests. */
export function requestMetrics(counts: RequestCounts): readonly Metric[] {
  return [
    {
      name: 'chancery_http_requests_total',
      type: 'counter',
      help: 'Requests by the pattern of their route, their method and the class of their status.',
      samples: () =>
        counts.routes
          .flatMap(({ route, method, classes }) => classSamples({ route, method }, classes))
          .toArray(),
    },
    {
      name: 'chancery_http_request_duration_seconds',
      type: 'histogram',
      help: 'Time from the headers of a request until its answer began to be sent.',
      samples: () =>
        counts.routes
          .filter(({ seconds }) => seconds.count > 0)
          .map(({ route, method, seconds }) => ({ labels: { route, method }, value: seconds }))
          .toArray(),
    },
    single(
      { name: 'chancery_http_sent_bytes_total', type: 'counter', help: 'Bytes of the bodies of answers.' },
      () => counts.sentBytes,
    ),
    single(
      {
        name: 'chancery_file_received_bytes_total',
        type: 'counter',
        help: 'Bytes of files that were uploaded.',
      },
      () => counts.receivedFileBytes,
    ),
    single(
      {
        name: 'chancery_file_sent_bytes_total',
        type: 'counter',
        help: 'Bytes of files and thumbs that were sent.',
      },
      () => counts.sentFileBytes,
    ),
  ];
}

function classSamples(labels: Readonly<Record<string, string>>, classes: Float64Array): readonly Sample[] {
  return [...classes.entries()]
    .filter(([, count]) => count > 0)
    .map(([digit, value]) => ({ labels: { ...labels, status: `${digit}xx` }, value }));
}
