import type { FastifyInstance } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { changedPaths } from '../../logs/audit-entry.ts';
import { auditLogOf } from '../../logs/audit-log.ts';
import { changeSettings, type SettingsChange } from '../../settings/change-settings.ts';
import { defaultSettings, type Settings, settingsToJson } from '../../settings/settings.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { jsonAnswer, operation, type OperationParts } from '../openapi/operation.ts';
import { type Operation, type Paths, type Schema, schemaLike, schemaReference } from '../openapi/schema.ts';
import { onInstanceAsSuperuser } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

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
        await auditLogOf(instance).append(tx, ruleInput(request, caller), entry);
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

/** What superusers decide about their instance. */
export const settingsPaths: Paths = {
  '/api/settings': {
    get: ours({
      id: 'getSettings',
      summary: 'All settings; secrets are never shown',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('The settings.', schemaReference('Settings')) },
    }),
    patch: ours({
      id: 'updateSettings',
      summary: 'Change settings: objects are merged, lists replaced',
      parameters: ['Fields'],
      body: { type: 'object' },
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The settings.', schemaReference('Settings')) },
      refusals: [409, 507],
    }),
  },
  '/api/settings/test/s3': {
    post: ours({
      id: 'testS3',
      summary: 'Refused: files are not kept in S3 by this version',
      body: { type: 'object' },
      isBodyOptional: true,
      answers: {},
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'settings', isForSuperusers: true });
}

export const settingsSchemas: Readonly<Record<string, Schema>> = {
  // The defaults have every member that settings can have, and an item in each list of objects.
  Settings: schemaLike(JSON.parse(settingsToJson(defaultSettings))),
};
