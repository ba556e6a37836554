import { AppError } from '../../base/errors.ts';
import { fieldError } from '../../fields/field-error.ts';
import { testStore } from '../../files/test-store.ts';
import { changedPaths } from '../../logs/audit-entry.ts';
import { changeSettings, type SettingsChange } from '../../settings/change-settings.ts';
import { defaultSettings, settingChoices, type Settings, settingsToJson } from '../../settings/settings.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaLike, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'settings', isForSuperusers: true } as const;
const answers = { 200: jsonAnswer('The settings.', schemaReference('Settings')) };

/** Settings: what superusers decide about their instance. */
export const settingsRoutes = [
  route({
    method: 'GET',
    path: '/api/settings/public',
    id: 'getPublicSettings',
    tag: 'settings',
    scope: 'any',
    summary: 'Get the public name and accent colour of the instance, and how its portals look',
    isCurrent: true,
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('All of them; empty where none is set.', schemaReference('PublicSettings')) },
    handle: (context) => {
      const { meta, portal } = context.instance.settings.current;
      const { appName, accentColor } = meta;
      return context.answer(JSON.stringify({ appName, accentColor, portal }));
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/settings',
    id: 'getSettings',
    summary: 'Get all settings; secrets are never returned',
    isCurrent: true,
    parameters: ['Fields'],
    answers,
    handle: (context) => context.answer(settingsToJson(context.instance.settings.current)),
  }),
  route({
    ...common,
    method: 'PATCH',
    path: '/api/settings',
    id: 'updateSettings',
    summary: 'Update settings: objects are merged, lists replaced',
    parameters: ['Fields'],
    body: { type: 'object' },
    isBodyOptional: true,
    answers,
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance, request, input } = context;
      const { database, settings } = instance;
      const from = (changed: Settings): Uint8Array => services.admission.addressUnder(changed, request);
      const onChange: SettingsChange['onChange'] = async (tx, before, after) => {
        const changed = changedPaths(before, after);
        if (changed.length === 0) return;
        const entry = { action: 'settings.update', details: { changed } } as const;
        await instance.audit.append(tx, input, entry);
      };
      const changed = await changeSettings({ database, settings, onChange }, context.body, from);
      await services.backups.reschedule(instance);
      return context.answer(settingsToJson(changed));
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/settings/test/s3',
    id: 'testS3',
    summary: 'Test S3: store, read and delete a small file with the current settings',
    isCurrent: true,
    body: schemaReference('TestS3'),
    answers: { 204: emptyAnswer('The test passed.') },
    handle: async ({ instance, body }) => {
      const { s3, backups } = instance.settings.current;
      const { filesystem = '' } = body;
      const settings = filesystem === 'storage' ? s3 : filesystem === 'backups' ? backups.s3 : undefined;
      if (settings === undefined)
        throw new AppError('bad_request', 'Failed to test the S3 filesystem.', {
          details: {
            filesystem: fieldError(filesystem === '' ? 'validation_required' : 'validation_in_invalid'),
          },
        });
      const problem = settings.enabled
        ? await testStore(instance.files, settings)
        : 'It is not enabled in the settings.';
      if (problem !== undefined)
        throw new AppError('bad_request', `Failed to test the S3 filesystem. ${problem}`);
      return nothing;
    },
  }),
];

export const settingsSchemas: Readonly<Record<string, Schema>> = {
  PublicSettings: objectSchema({
    appName: { type: 'string' },
    accentColor: { type: 'string' },
    portal: schemaLike(defaultSettings.portal, { theme: settingChoices['portal.theme'] }),
  }),
  // The defaults have every member that settings can have, and an item in each list of objects.
  TestS3: objectSchema({
    filesystem: {
      type: 'string',
      enum: ['storage', 'backups'],
      description: 'Which of the two to test.',
    },
  }),
  Settings: schemaLike(JSON.parse(settingsToJson(defaultSettings)), settingChoices),
};
