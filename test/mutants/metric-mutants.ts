import type { Mutant } from './mutant.ts';

const metrics = ['test/api/metrics.test.ts'];
const contexts = ['src/base/trace-context.test.ts'];
const access = ['test/api/access-log.test.ts'];

/** Of what the operator is shown: metrics, traces and the access log. */
export const metricMutants: readonly Mutant[] = [
  {
    name: 'a method that a client makes up makes no series',
    file: 'src/http/request-counts.ts',
    from: "method !== undefined && methods.has(method) ? method : 'other'",
    to: "method ?? 'other'",
    tests: metrics,
  },
  {
    name: 'a path that no route has makes no series',
    file: 'src/http/request-counts.ts',
    from: "request.routeOptions.config?.pattern ?? 'none'",
    to: 'request.routeOptions.config?.pattern ?? request.originalUrl',
    tests: metrics,
  },
  {
    name: 'only so many instances are named by metrics',
    file: 'src/http/service-metrics.ts',
    from: '.slice(0, instancesMax)',
    to: '',
    tests: metrics,
  },
  {
    name: 'an instance does not show the metrics of all others',
    file: 'src/http/routes/metrics.ts',
    from: 'instance.slug !== defaultSlug',
    to: 'instance.slug === undefined',
    tests: metrics,
  },
  {
    name: 'the port of metrics serves nothing else',
    file: 'src/http/server/metrics-server.ts',
    from: "url.split('?', 1)[0] !== '/metrics'",
    to: "url === ''",
    tests: metrics,
  },
  {
    name: 'the backlog is not counted for each question',
    file: 'src/deliveries/log/backlog.ts',
    from: 'monotonic() < this.#readAtMs + freshMs',
    to: 'monotonic() < 0',
    tests: ['src/deliveries/log/backlog.test.ts'],
  },
  {
    name: 'a span of zeros is no trace',
    file: 'src/base/trace-context.ts',
    from: ' || /^0+$/.test(spanId)',
    to: '',
    tests: contexts,
  },
  {
    name: 'a traceparent of the first version has nothing behind it',
    file: 'src/base/trace-context.ts',
    from: "(version === '00' && more !== undefined)",
    to: 'false',
    tests: contexts,
  },
  {
    name: 'a tracestate names each system once',
    file: 'src/base/trace-context.ts',
    from: 'keys.size === members.length &&',
    to: '',
    tests: contexts,
  },
  {
    name: 'each attempt is a span of its own',
    file: 'src/deliveries/deliveries.ts',
    from: 'nextSpan(traceparent)',
    to: 'traceparent',
    tests: ['test/api/traces.test.ts'],
  },
  {
    name: 'no secret of a query comes into the access log',
    file: 'src/http/server/access-log.ts',
    from: 'maskUrl(request.originalUrl)',
    to: 'request.originalUrl',
    tests: access,
  },
  {
    name: 'a page that was led to the port of metrics by its name does not read them',
    file: 'src/http/server/metrics-server.ts',
    from: "addressBytes(address) !== null || !host.includes('.') || names.includes(host)",
    to: 'true',
    tests: metrics,
  },
];
