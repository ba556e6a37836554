import { operatorEventKinds } from '../../../instances/operator-events.ts';
import { parseOperatorFeedQuery } from '../../../operator/operator-feed.ts';
import { listAudit } from '../../../logs/list-audit.ts';
import { listNodes } from '../../../dispatch/nodes/leased-ownership.ts';
import { answerMetrics, metricsAnswer } from '../metrics.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { listParameters } from '../../schemas/parameters.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';

const common = { tag: 'operator', method: 'GET' } as const;

/** What became of instances, who did it, and where they run. */
export const operatorFeedRoutes = [
  operatorRoute({
    ...common,
    path: '/events',
    id: 'readOperatorFeed',
    scope: 'instances:read',
    summary: 'List what became of instances, after a cursor',
    parameters: ['OperatorCursor', 'OperatorOrder', 'FeedPerPage', 'Wait'],
    answers: { 200: jsonAnswer('The events.', schemaReference('OperatorFeed')) },
    handle: async ({ services, operator, query, request }) => {
      const isOver = (): boolean => request.isGone() || services.readiness() === 'stopping';
      const page = await operator.feed.read(parseOperatorFeedQuery(query), isOver);
      return { status: 200, json: JSON.stringify(page) };
    },
  }),
  operatorRoute({
    ...common,
    path: '/audit',
    id: 'listOperatorAudit',
    scope: 'admin',
    summary: 'List what operator keys have done, and the refused ones',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The entries.', schemaReference('AuditList')) },
    handle: async (context) => context.answerList(await listAudit(context.operator, context.listQuery)),
  }),
  operatorRoute({
    ...common,
    path: '/nodes',
    id: 'listNodes',
    scope: 'instances:read',
    summary: 'List the nodes of the PostgreSQL database; a data directory has none',
    parameters: ['Fields'],
    answers: {
      200: jsonAnswer(
        'The nodes.',
        objectSchema({ items: { type: 'array', items: schemaReference('Node') } }),
      ),
    },
    handle: async (context) => {
      const { database } = context.operator;
      const items = database.names.isConcurrent ? await listNodes(database) : [];
      return context.answer(JSON.stringify({ items }));
    },
  }),
  operatorRoute({
    ...common,
    path: '/metrics',
    id: 'operatorMetrics',
    scope: 'metrics',
    summary: 'Get the metrics of the service in the text format of Prometheus',
    answers: { 200: metricsAnswer },
    handle: ({ services, request }) => answerMetrics(services.metrics, request),
  }),
];

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };

export const operatorFeedSchemas: Readonly<Record<string, Schema>> = {
  OperatorFeed: objectSchema({
    items: { type: 'array', items: schemaReference('OperatorEvent') },
    nextCursor: {
      type: 'string',
      description: 'The cursor for the next request, also if there were no events.',
    },
  }),
  OperatorEvent: objectSchema({
    id: text,
    kind: { type: 'string', enum: operatorEventKinds },
    instance: { type: 'string', description: 'Id of the instance; empty for an event of a disk.' },
    created: text,
    data: { type: 'object', additionalProperties: true },
  }),
  Node: objectSchema({
    id: text,
    version: text,
    started: text,
    seenSeconds: { type: 'number', minimum: 0 },
    shards: count,
  }),
};
