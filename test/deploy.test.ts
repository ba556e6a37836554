import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { readMetricRows } from './support/metric-rows.ts';

const folder = fileURLToPath(new URL('../deploy', import.meta.url));
const alertsPath = join(folder, 'alerts.yml');
const rows = readMetricRows();

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

// Our own file, whose form the tests below look at.
const dashboard = JSON.parse(readFileSync(join(folder, 'grafana.json'), 'utf8')) as Dashboard;
// Our own file as well.
const alerts = parse(readFileSync(alertsPath, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);

/** Those that Prometheus gives to every series that it has asked for. */
const common = ['job', 'instance'];
const functions =
  /^(?:sum|max|count|topk|rate|increase|deriv|changes|absent|histogram_quantile|by|and|or|label_values)$/;

/** Returns the metrics that an expression names. Throws for a name, or a label, that is not served. */
function metricsOf(expression: string): readonly string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '""');
  for (const [open = '', close = ''] of ['()', '{}', '[]'])
    assert.equal(bare.split(open).length, bare.split(close).length, `${open}${close} of ${expression}`);
  const names: string[] = [];
  const selector = /\b([a-z_]\w*)(?:\{([^}]*)\})?/g;
  const grouped = [...bare.matchAll(/\bby \(([\w, ]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
  const plain = bare
    .replaceAll(/\bby \([\w, ]*\)/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\$\w+/g, '');
  for (const [, name = '', matchers = ''] of plain.matchAll(selector)) {
    if (functions.test(name) || common.includes(name)) continue;
    const row = rows.find(
      (one) => one.name === name || (one.type === 'histogram' && partsOf(one.name).includes(name)),
    );
    assert.ok(row !== undefined, `${name} of ${expression} is no metric`);
    names.push(row.name);
    const used = [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    const allowed = [...common, ...row.labels, ...(name.endsWith('_bucket') ? ['le'] : [])];
    for (const label of [...used, ...grouped])
      assert.ok(allowed.includes(label), `${name} has no label ${label}: ${expression}`);
  }
  assert.ok(names.length > 0, `a metric in ${expression}`);
  return names;
}

function partsOf(name: string): readonly string[] {
  return ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`);
}

test('the dashboard shows every metric of the service, and names none that is not served', () => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');
  const shown = new Set(panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsOf(expr))));
  const own = rows.map(({ name }) => name).filter((name) => name.startsWith('chancery_'));
  assert.deepEqual(
    own.filter((name) => !shown.has(name)),
    [],
  );
  for (const { query } of dashboard.templating.list) {
    const text = typeof query === 'string' ? query : JSON.stringify(query).replaceAll('\\"', '"');
    for (const [name] of text.matchAll(/chancery_\w+/g)) assert.ok(own.includes(name), name);
  }
});

test('each panel of the dashboard has a place of its own, a title and a description', () => {
  const taken = new Set<string>();
  for (const { id, type, title, description, gridPos } of dashboard.panels) {
    assert.ok(title !== '' && (type === 'row' || (description ?? '') !== ''), title);
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.ok(!taken.has(`${x} ${y}`), `${title} (${id}) lies over another one`);
        taken.add(`${x} ${y}`);
      }
  }
});

test('each alert names metrics that are served, and says what it means and what to do', () => {
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, expr, for: time = '1m', labels, annotations, ...rest } of rules) {
    assert.match(alert, /^Chancery[A-Z][A-Za-z]+$/);
    metricsOf(expr);
    assert.match(time, /^\d+[mh]$/);
    assert.deepEqual(Object.keys(labels), ['severity']);
    assert.match(labels['severity'] ?? '', /^(?:critical|warning|info)$/);
    assert.deepEqual(Object.keys(annotations), ['summary', 'reason', 'action'], alert);
    assert.deepEqual(rest, {});
  }
});

test('promtool accepts the alerts, where it is installed', (t) => {
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', alertsPath], {
    encoding: 'utf8',
  });
  if (error !== undefined) return t.skip('promtool is not installed');
  assert.equal(status, 0, stdout + stderr);
});
