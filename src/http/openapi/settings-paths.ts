import { defaultSettings, settingsToJson } from '../../settings/settings.ts';
import type { Operation, Paths, Schema } from './document.ts';
import { jsonAnswer, operation, type OperationParts } from './operation.ts';
import { schemaReference } from './reference.ts';
import { schemaLike } from './schema-like.ts';

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
