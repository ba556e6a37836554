import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scrape } from './support/exposition.ts';
import { readMetricRows } from './support/metric-rows.ts';
import { startService } from './support/service.ts';

const rows = readMetricRows();

test('docs/metrics.md lists every metric that is served, with its type, its labels and what it says', async (t) => {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  await service.request('/api/health');
  const found = await Scrape.of(service.app.metricsUrl ?? '');
  const served = [...found.types].map(([name, type]) => ({ name, type, help: found.helps.get(name) }));
  assert.deepEqual(
    rows.map(({ name, type, help }) => ({ name, type, help })),
    served,
  );
  for (const { name, type, labels } of rows) {
    const first = found
      .seriesOf(name)
      .find((one) => [name, `${name}_count`].includes(one.replace(/\{.*/, '')));
    // Nothing was counted by it yet.
    if (first === undefined) continue;
    const shown = [...first.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    assert.deepEqual(new Set(shown), new Set(labels), `${name}, a ${type}`);
  }
});

test('names of metrics follow the conventions of Prometheus', () => {
  for (const { name, type } of rows.filter(({ name: one }) => one.startsWith('chancery_'))) {
    assert.equal(type === 'counter', name.endsWith('_total'), name);
    if (type === 'histogram') assert.match(name, /_(?:seconds|writes)$/);
  }
});
