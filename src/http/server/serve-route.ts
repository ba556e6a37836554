import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, notFound } from '../../base/errors.ts';
import { suspendedText } from '../../instances/instance-rows.ts';
import type { OperatorControl } from '../../operator/operator-control.ts';
import type { Answer } from '../answer.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import { BeingReplaced } from '../../instances/replacement-mark.ts';
import { queryOf } from '../request.ts';
import { patternOf } from '../request-counts.ts';
import { ServiceContext, type Services } from '../request-context.ts';
import type { InstanceRoute, Route } from '../route.ts';
import { FrontRequest } from './front-request.ts';
import { serveOperatorRoute } from './serve-operator.ts';
import { sendAnswer } from './send-answer.ts';

export interface Serving {
  readonly readiness: Services['readiness'];
  readonly directory: Services['directory'];
  readonly host: InstanceHost;
  readonly operator?: OperatorControl | undefined;
  readonly metrics: Services['metrics'];
}

/** Serves a route under all of its paths. */
export function serveRoute(app: FastifyInstance, serving: Serving, route: Route): void {
  if (route.kind === 'operator') {
    serveOperatorRoute(app, serving, route);
    return;
  }
  const { method, paths } = route;
  const counts = app.requestCounts.of(route, method);
  const countsOfHead = app.requestCounts.of(route, 'HEAD');
  const count = (request: FastifyRequest): void => {
    request.routeCounts = request.method === 'HEAD' ? countsOfHead : counts;
  };
  const pattern = patternOf(route);
  for (const url of paths) {
    if (route.kind === 'service')
      app.route({
        method,
        url,
        config: { pattern },
        handler: async (request, reply) => {
          count(request);
          try {
            const context = new ServiceContext(serving, queryOf(request), request.instanceEntry?.id);
            sendAnswer(request, reply, await route.handle(context));
          } finally {
            request.releaseBody?.();
          }
        },
      });
    else
      app.route({
        method,
        url,
        config: { pattern, takesBytes: route.takesBytes, takesFiles: route.planForm !== undefined },
        handler: (request, reply) => {
          count(request);
          return serve(route, serving, { request, reply });
        },
      });
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Passes a request to the host of its instance, and sends what that answers. A suspended instance is not asked. */
async function serve(route: InstanceRoute, serving: Serving, { request, reply }: Exchange): Promise<void> {
  const entry = request.instanceEntry;
  if (entry === null) throw notFound();
  try {
    if (entry.state === 'replacing') throw new BeingReplaced();
    const answer =
      entry.state === 'suspended'
        ? answerSuspended(route, new ServiceContext(serving, queryOf(request), entry.id))
        : serving.host.serve(route, new FrontRequest(request, reply, entry));
    sendAnswer(request, reply, await answer);
  } finally {
    request.answerMemory?.release();
    request.releaseBody?.();
  }
}

/** Throws forbidden, whoever asks, unless the route is one that says so. */
function answerSuspended(route: InstanceRoute, context: ServiceContext): Answer | Promise<Answer> {
  if (route.handleSuspended === undefined) throw new AppError('forbidden', suspendedText);
  return route.handleSuspended(context);
}
