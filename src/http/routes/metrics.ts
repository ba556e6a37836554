import { AppError } from '../../base/errors.ts';
import { defaultSlug } from '../../instances/instance-directory.ts';
import type { Answer } from '../answer.ts';
import type { Services } from '../request-context.ts';
import { route } from '../route.ts';

/** How metrics are described. */
export const metricsAnswer = {
  description: 'The metrics.',
  headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
  content: { 'text/plain': { schema: { type: 'string' } } },
} as const;

/** Metrics of the whole process, for Prometheus. They are also served on a port of their own (metrics-server.ts). */
export const metricsRoutes = [
  route({
    method: 'GET',
    path: '/metrics',
    id: 'metrics',
    tag: 'health',
    scope: 'metrics',
    isForSuperusers: true,
    summary: 'Get the metrics of the service in the text format of Prometheus, on the default instance only',
    answers: {
      200: metricsAnswer,
    },
    handle: ({ instance, services, request }) => {
      // They tell of all instances, and a superuser of one is nobody in the others.
      if (instance.slug !== defaultSlug)
        throw new AppError(
          'forbidden',
          `Metrics are those of the whole service, which only the instance ${defaultSlug} shows.`,
        );
      return answerMetrics(services.metrics, request);
    },
  }),
];

/** Answers with the metrics of the whole process. */
export async function answerMetrics(
  metrics: Services['metrics'],
  { method }: { readonly method: string },
): Promise<Answer> {
  const { type, text } = await metrics.write();
  const body = Buffer.from(text);
  const content = { length: body.length, ...(method !== 'HEAD' && { body }) };
  return { status: 200, content, headers: { 'content-type': type, 'cache-control': 'no-store' } };
}
