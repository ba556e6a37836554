import type { FastifyInstance } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { changeSettings } from '../../settings/change-settings.ts';
import { settingsToJson } from '../../settings/settings.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

/** What superusers decide about their instance. */
export function settingsRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/settings',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      await instance.refresh();
      return answer(request, reply, { json: settingsToJson(instance.settings.current) });
    }),
  );

  app.patch(
    '/api/settings',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const from = request.server.admission.addressOf(instance, request);
      const changed = await changeSettings(instance, bodyOf(request), from);
      return answer(request, reply, { json: settingsToJson(changed) });
    }),
  );

  for (const [path, what] of [
    ['s3', 'Files are not kept in S3 by this version'],
    ['email', 'No mail is sent by this version'],
  ])
    app.post(
      `/api/settings/test/${path}`,
      onInstanceAsSuperuser(instances, () => {
        throw new AppError('bad_request', `${what}: there is nothing to test.`);
      }),
    );
}
