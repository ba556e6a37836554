import { endpointsMax, endpointStatuses } from '../../endpoints/endpoint.ts';
import { namedOptions } from '../../endpoints/endpoint-options.ts';
import { importEndpoints } from '../../deliveries/endpoints/import-endpoints.ts';
import { secretWarnings } from '../../sending/signature.ts';
import { notStored } from '../answer.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';
import { savingOf, verifySoon } from './endpoints.ts';

/** Endpoints as code, for superusers. */
export const endpointImportRoutes = [
  route({
    tag: 'webhooks',
    isForSuperusers: true,
    method: 'PUT',
    path: '/api/webhooks/endpoints/import',
    id: 'importEndpoints',
    scope: 'webhooks:write',
    summary: 'Create and update endpoints by name from definitions, all or none',
    description:
      'An option that a definition omits is reset to its default. Endpoints without a name are not changed. With `dryRun` nothing is changed.',
    parameters: ['Fields'],
    body: schemaReference('EndpointImport'),
    answers: {
      200: jsonAnswer(
        'The changes, or with `dryRun` the planned changes.',
        schemaReference('EndpointImported'),
      ),
    },
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance, body } = context;
      const { created, ...others } = await importEndpoints(savingOf(context), body, services.policy);
      services.dispatcher.wake(instance.id);
      const ids = new Set([...created, ...others.updated].map(({ id }) => id));
      const endpoints = await instance.endpoints.all(instance.database);
      verifySoon(
        context,
        endpoints.filter(({ id }) => ids.has(id)),
      );
      // As of a create, no other answer than this one shows the secret of a new endpoint.
      const withSecrets = created.map(({ secret, ...one }) =>
        secret === '' ? one : { ...one, secret, warnings: secretWarnings(secret) },
      );
      return context.answer(JSON.stringify({ created: withSecrets, ...others }), { headers: notStored });
    },
  }),
];

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'array', items: text };
const named = { id: text, name: text };

function listOf(members: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  return { type: 'array', items: objectSchema(members, optional) };
}

const definition: Readonly<Record<string, Schema>> = {
  ...Object.fromEntries(namedOptions.map(([name, { schema }]) => [name, schema])),
  status: {
    type: 'string',
    enum: endpointStatuses,
    description: 'State of a new endpoint: active or paused. An existing endpoint keeps its state.',
  },
  secret: {
    type: ['string', 'null'],
    description: 'Secret of a new endpoint; generated if omitted. An existing endpoint keeps its secret.',
  },
};

const optionalNames = Object.keys(definition).filter((name) => name !== 'name' && name !== 'url');

export const endpointImportSchemas: Readonly<Record<string, Schema>> = {
  EndpointDefinition: objectSchema(definition, optionalNames),
  EndpointImport: objectSchema(
    {
      endpoints: { type: 'array', maxItems: endpointsMax, items: schemaReference('EndpointDefinition') },
      deleteMissing: {
        type: 'boolean',
        default: false,
        description: 'Whether to delete endpoints with other names. Endpoints without a name stay.',
      },
      dryRun: { type: 'boolean', default: false, description: 'Whether to only return the planned changes.' },
    },
    ['deleteMissing', 'dryRun'],
  ),
  EndpointImported: objectSchema({
    created: listOf(
      {
        ...named,
        secret: { type: 'string', description: 'The signing secret; absent, like the id, from a dry run.' },
        warnings: texts,
      },
      ['id', 'secret', 'warnings'],
    ),
    updated: listOf({ ...named, changed: { ...texts, description: 'The options that differ.' } }),
    unchanged: listOf(named),
    deleted: listOf(named),
  }),
};
