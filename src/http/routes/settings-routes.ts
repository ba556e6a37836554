import type { FastifyInstance } from 'fastify';
import { auditLogOf } from '../../audit/audit-log.ts';
import { changedPaths } from '../../audit/changed-paths.ts';
import { AppError } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { changeSettings, type SettingsChange } from '../../settings/change-settings.ts';
import { settingsToJson, type Settings } from '../../settings/settings.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

/** Settings: what superusers decide about their instance. */
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
    onInstanceAsSuperuser(instances, async ({ instance, caller }, request, reply) => {
      const from = (settings: Settings): Uint8Array =>
        request.server.admission.addressUnder(settings, request);
      const { database, settings } = instance;
      const onChange: SettingsChange['onChange'] = async (tx, before, after) => {
        const changed = changedPaths(before, after);
        if (changed.length === 0) return;
        const entry = { action: 'settings.update', details: { changed } } as const;
        await auditLogOf(instance).append(tx, factsOf(request, caller), entry);
      };
      const changed = await changeSettings({ database, settings, onChange }, bodyOf(request), from);
      return answer(request, reply, { json: settingsToJson(changed) });
    }),
  );

  app.post(
    '/api/settings/test/s3',
    onInstanceAsSuperuser(instances, () => {
      throw new AppError(
        'bad_request',
        'Files are not kept in S3 by this version: there is nothing to test.',
      );
    }),
  );
}
