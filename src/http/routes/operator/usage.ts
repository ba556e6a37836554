import { AppError } from '../../../base/errors.ts';
import { toTimestamp } from '../../../base/timestamp.ts';
import { togetherOf, type UsageGauge, usageLimits, type UsageSum } from '../../../logs/add-usage.ts';
import {
  readTopUsage,
  readUsage,
  type Usage,
  type UsageQuery,
  type UsageStep,
} from '../../../logs/read-usage.ts';
import { findManaged, storedId } from '../../../operator/managed-instances.ts';
import type { OperatorControl } from '../../../operator/operator-control.ts';
import { parameterError } from '../../../query/list-parameters.ts';
import type { QueryReader } from '../../../query/list-query.ts';
import { timeParameter } from '../../../query/time-parameter.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';

const common = { tag: 'operator', method: 'GET', scope: 'usage:read' } as const;

const daysShown = 30;
const topDefault = 20;
const topMax = 1_000;
const instancesMax = 200;

/** What instances use, for the bills that the operator's programs write. */
export const operatorUsageRoutes = [
  operatorRoute({
    ...common,
    path: '/instances/:instance/usage',
    id: 'getInstanceUsage',
    summary: 'Get what an instance has used, by hours or days, the oldest first',
    description: 'Hours are known for 35 days, days for 25 months. Without `from`, the last 30 days.',
    parameters: ['ManagedInstance', 'From', 'To', 'UsageStep', 'Fields'],
    answers: { 200: jsonAnswer('The usage.', schemaReference('InstanceUsage')) },
    handle: async (context) => {
      const { operator, params, query } = context;
      const ids = await idsOf(operator, params.instance);
      const range = rangeOf(query, operator.clock.now());
      const usage = await readUsage(operator.database, {
        ...range,
        step: stepOf(query),
        instance: ids.storageId,
      });
      const items = usage.map(countsOf);
      return context.answer(JSON.stringify({ instance: ids.publicId, ...rangeJson(range), items }));
    },
  }),
  operatorRoute({
    ...common,
    path: '/usage',
    id: 'getUsage',
    summary: 'Get the instances that have used most, each with all that it has used',
    parameters: ['From', 'To', 'UsageBy', 'UsageTop', 'UsageInstances', 'Fields'],
    answers: { 200: jsonAnswer('The usage.', schemaReference('TopUsage')) },
    handle: async (context) => {
      const { operator, query } = context;
      const range = rangeOf(query, operator.clock.now());
      const ids = instancesOf(query);
      const all = await operator.directory.list();
      const among = ids && all.filter(({ shownId }) => ids.includes(shownId)).map(({ id }) => id);
      const top = { by: byOf(query), max: topOf(query), among };
      const usage = await readTopUsage(operator.database, range, top);
      const items = usage.map((one) => {
        const row = all.find(({ id }) => id === one.instance);
        const { at, ...counts } = countsOf(one);
        return { instance: row?.shownId ?? one.instance, slug: row?.slug ?? '', first: at, ...counts };
      });
      return context.answer(JSON.stringify({ ...rangeJson(range), items }));
    },
  }),
];

/** Returns the ids of an instance. One that is removed is known by its id alone, under which its usage stays. Throws not_found. */
async function idsOf(
  operator: OperatorControl,
  name: string,
): Promise<{ readonly publicId: string; readonly storageId: string }> {
  try {
    const managed = await findManaged(operator, name);
    return { publicId: managed.id, storageId: await storedId(operator, managed) };
  } catch (error) {
    const isAbsent = error instanceof AppError && error.code === 'not_found';
    if (isAbsent && /^[a-z0-9]{15}$/.test(name)) return { publicId: name, storageId: name };
    throw error;
  }
}

type Range = Pick<UsageQuery, 'from' | 'to'>;

function rangeOf(query: QueryReader, now: number): Range {
  const to = timeParameter(query, 'to') ?? now + 1;
  return { from: timeParameter(query, 'from') ?? to - daysShown * usageLimits.dayMs, to };
}

function countsOf(usage: Usage): Omit<Usage, 'instance'> {
  const { instance: _, ...counts } = usage;
  return counts;
}

function rangeJson({ from, to }: Range): object {
  return { from: toTimestamp(from), to: toTimestamp(to) };
}

function stepOf(query: QueryReader): UsageStep {
  const text = query.get('step') || 'day';
  if (text === 'hour' || text === 'day') return text;
  throw parameterError('step', 'Expected hour or day.');
}

function byOf(query: QueryReader): UsageSum | UsageGauge {
  const text = query.get('by') || 'requests';
  // Object.keys widens the names to strings.
  const names = Object.keys(togetherOf) as readonly (UsageSum | UsageGauge)[];
  const name = names.find((one) => one === text);
  if (name !== undefined) return name;
  throw parameterError('by', `Expected one of ${names.join(', ')}.`);
}

function topOf(query: QueryReader): number {
  const text = query.get('top') || String(topDefault);
  const top = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (top >= 1 && top <= topMax) return top;
  throw parameterError('top', `Expected an integer from 1 to ${topMax}.`);
}

/** The ids in the query; undefined where it names none. */
function instancesOf(query: QueryReader): readonly string[] | undefined {
  const text = query.get('instances') ?? '';
  if (text === '') return undefined;
  const ids = text.split(',');
  if (ids.length <= instancesMax) return ids;
  throw parameterError('instances', `Expected at most ${instancesMax} ids.`);
}

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const gauge: Schema = {
  type: ['integer', 'null'],
  minimum: 0,
  description: 'The most that there was; null where it was not measured.',
};
const counts: Readonly<Record<keyof Omit<Usage, 'instance' | 'at'>, Schema>> = {
  requests: count,
  writes: count,
  events: count,
  deliveries: count,
  sentBytes: count,
  realtimeConnections: count,
  records: gauge,
  dataBytes: gauge,
  fileBytes: gauge,
  logBytes: gauge,
  diskBytes: gauge,
};

export const operatorUsageSchemas: Readonly<Record<string, Schema>> = {
  InstanceUsage: objectSchema({
    instance: text,
    from: text,
    to: text,
    items: {
      type: 'array',
      items: objectSchema({
        at: { ...text, description: 'The beginning of the hour or day, in UTC.' },
        ...counts,
      }),
    },
  }),
  TopUsage: objectSchema({
    from: text,
    to: text,
    items: {
      type: 'array',
      items: objectSchema({
        instance: text,
        slug: text,
        first: { ...text, description: 'The first hour in which it was used.' },
        ...counts,
      }),
    },
  }),
};
