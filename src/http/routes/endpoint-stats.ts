import {
  endpointStats,
  instanceStats,
  parseStatsQuery,
  statsSteps,
} from '../../deliveries/endpoints/endpoint-stats.ts';
import { endpointDaysKept } from '../../deliveries/endpoint-days.ts';
import { endpointFigures, parseFiguresQuery } from '../../deliveries/endpoints/endpoint-figures.ts';
import { endpointStatuses } from '../../endpoints/endpoint.ts';
import { listLanes } from '../../deliveries/list-lanes.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'webhooks', isForSuperusers: true, scope: 'webhooks:read', method: 'GET' } as const;

/** How endpoints do, now and over time, for superusers. */
export const endpointStatsRoutes = [
  route({
    ...common,
    path: '/api/webhooks/stats',
    id: 'getWebhookStats',
    summary: 'Get the events and the attempts of all endpoints by hour or day',
    parameters: ['From', 'To', 'Step', 'Fields'],
    answers: { 200: jsonAnswer('The statistics.', schemaReference('WebhookStats')) },
    handle: async (context) => {
      const { instance, query } = context;
      const range = parseStatsQuery(query, instance.clock.now());
      return context.answer(JSON.stringify(await instanceStats(instance, range)));
    },
  }),
  route({
    ...common,
    path: '/api/webhooks/endpoints/:id/stats',
    id: 'getEndpointStats',
    endpointKeys: 'endpoint',
    summary: 'Get the attempts of an endpoint by hour or day',
    parameters: ['EndpointId', 'From', 'To', 'Step', 'Fields'],
    answers: { 200: jsonAnswer('The statistics.', schemaReference('EndpointStats')) },
    handle: async (context) => {
      const { instance, params, query } = context;
      const range = parseStatsQuery(query, instance.clock.now());
      return context.answer(JSON.stringify(await endpointStats(instance, params.id, range)));
    },
  }),
  route({
    ...common,
    path: '/api/webhooks/endpoints/:id/figures',
    id: 'getEndpointFigures',
    endpointKeys: 'endpoint',
    summary: 'Get how the deliveries of an endpoint ended by day, with their latencies from the commit on',
    description: `Days are kept for ${endpointDaysKept} days. Tests, replays and backfills are not counted.`,
    parameters: ['EndpointId', 'FiguresSince', 'FiguresUntil', 'FiguresWithin', 'Fields'],
    answers: { 200: jsonAnswer('The figures.', schemaReference('EndpointFigures')) },
    handle: async (context) => {
      const { instance, params, query } = context;
      const range = parseFiguresQuery(query, instance.clock.now());
      return context.answer(JSON.stringify(await endpointFigures(instance, params.id, range)));
    },
  }),
  route({
    ...common,
    path: '/api/webhooks/lanes',
    id: 'listLanes',
    endpointKeys: 'narrowed',
    summary: 'List the states of endpoints: which fail, since when and why',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The lanes.', schemaReference('LaneList')) },
    handle: async (context) =>
      context.answerList(await listLanes(context.instance, context.listQuery, context.caller)),
  }),
];

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const latency: Schema = {
  type: ['number', 'null'],
  description: 'In milliseconds, within 5 %; null where nothing was delivered.',
};
const state: Schema = {
  type: 'string',
  enum: ['closed', 'open', 'slow', 'blocked'],
  description:
    'open while it fails and is only probed, slow while it comes back, blocked at an exhausted delivery of a strict order.',
};

const figures: Readonly<Record<string, Schema>> = {
  attempts: count,
  delivered: count,
  failed: count,
  exhausted: { ...count, description: 'Deliveries without further attempts.' },
  latencyP50Ms: latency,
  latencyP95Ms: latency,
  latencyP99Ms: latency,
};

const step: Schema = { type: 'string', enum: statsSteps };
const times: Schema = { type: 'array', items: text, description: 'The start of each step.' };
const summary: Readonly<Record<string, Schema>> = {
  successRate: { type: ['number', 'null'], minimum: 0, maximum: 1 },
  failures: { type: 'object', additionalProperties: count, description: 'By their kind.' },
};
const waiting: Readonly<Record<string, Schema>> = {
  waiting: { ...count, description: 'Pending deliveries, at most `waitingMax`.' },
  waitingMax: count,
  waitingIsAtLeast: { type: 'boolean', description: 'Whether more deliveries are pending than counted.' },
  oldestWaiting: { type: 'string', description: 'The time of the oldest pending event.' },
};
const lane: Readonly<Record<string, Schema>> = {
  state,
  cause: text,
  undecided: {
    type: 'string',
    description:
      'For the endpoint of an account: why its events are not decided yet. It is behind the others.',
  },
  since: { type: 'string', description: 'When it began to fail.' },
  probeAt: text,
  heldUntil: {
    type: 'string',
    description: 'Until when the receiver has requested a pause (`Retry-After`).',
  },
};
const instanceFigures: Readonly<Record<string, Schema>> = {
  events: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Null if they are no longer stored, or more than 65,536 follow.',
  },
  ...figures,
};

const commitLatency: Schema = {
  type: ['number', 'null'],
  description:
    'In milliseconds, from the commit of the change to the end of the answer, rounded up to two digits; null where nothing was delivered.',
};
const dayFigures: Readonly<Record<string, Schema>> = {
  delivered: count,
  exhausted: count,
  expired: count,
  latencyP50Ms: commitLatency,
  latencyP95Ms: commitLatency,
  latencyP99Ms: commitLatency,
  within: {
    type: 'array',
    items: objectSchema({
      seconds: { type: 'number' },
      share: {
        type: ['number', 'null'],
        minimum: 0,
        maximum: 1,
        description: 'Of all deliveries that ended; null where none did.',
      },
    }),
  },
};
const day: Schema = { type: 'string', description: 'As `2026-11-20`, in UTC.' };

/** An array of each. */
function columnsOf(values: Readonly<Record<string, Schema>>): Schema {
  return objectSchema(
    Object.fromEntries(
      Object.entries(values).map(([name, items]) => [name, { type: 'array', items } as const]),
    ),
  );
}

export const endpointStatsSchemas: Readonly<Record<string, Schema>> = {
  EndpointStats: objectSchema({
    endpoint: { type: 'string', description: 'Its id.' },
    step,
    times,
    columns: columnsOf(figures),
    total: objectSchema({ ...figures, ...summary }),
    state,
    ...waiting,
    certificateExpires: {
      type: 'string',
      description: 'When its client certificate expires; empty without one.',
    },
    lastMatch: {
      type: 'string',
      description:
        'The time of the last change that matched, whether or not it was delivered; empty if the log has none.',
    },
    matches: {
      ...count,
      description: 'Changes of the last 24 hours that matched, at most `matchesMax`.',
    },
    matchesMax: count,
    matchesIsAtLeast: { type: 'boolean', description: 'Whether there are more than counted.' },
    isNeverMatched: {
      type: 'boolean',
      description:
        'Whether its filter has matched no change of its collections since it was created, although there were changes. Always false for the endpoint of an account.',
    },
  }),
  EndpointFigures: objectSchema({
    endpoint: { type: 'string', description: 'Its id.' },
    since: day,
    until: day,
    days: { type: 'array', items: objectSchema({ day, ...dayFigures }) },
    total: objectSchema(dayFigures),
  }),
  WebhookStats: objectSchema({
    from: { type: 'string', description: 'The start of the first step.' },
    to: { type: 'string', description: 'The end of the last step.' },
    step,
    times,
    columns: columnsOf(instanceFigures),
    total: objectSchema({ ...instanceFigures, ...summary }),
    failing: {
      type: 'array',
      items: objectSchema({ endpoint: { type: 'string', description: 'Its id.' }, attempts: count }),
      description: 'Endpoints that accepted none of their attempts, at most 100, most attempts first.',
    },
    neverMatched: {
      type: 'array',
      items: text,
      description:
        'The ids of active endpoints whose filter has matched no change since their creation, although there were some; at most 20.',
    },
    ...waiting,
  }),
  ListedEndpointStats: objectSchema({
    attempts: { ...count, description: 'Of the last 24 hours.' },
    delivered: count,
    exhausted: count,
    successRate: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    waiting: { ...count, description: 'Pending deliveries.' },
    waitingIsAtLeast: {
      type: 'boolean',
      description:
        'Whether more may be pending: the newest 65,536 deliveries of the log are counted, and as many failed ones.',
    },
    oldestWaiting: {
      type: 'string',
      description: 'The time of the oldest event among those; empty when there is none.',
    },
    lane: objectSchema(lane),
  }),
  Lane: objectSchema({
    id: { type: 'string', description: 'The id of its endpoint.' },
    url: text,
    status: { type: 'string', enum: endpointStatuses },
    ...lane,
  }),
  LaneList: listSchema(schemaReference('Lane')),
};
