import { endpointsMax } from '../../endpoints/endpoint.ts';
import { namedOptions } from '../../endpoints/endpoint-options.ts';
import { importEndpoints } from '../../deliveries/endpoints/import-endpoints.ts';
import { secretWarnings } from '../../sending/signature.ts';
import { notStored } from '../answer.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';
import { savingOf } from './endpoints.ts';

/** Endpoints as code, for superusers. */
export const endpointImportRoutes = [
  route({
    tag: 'webhooks',
    isForSuperusers: true,
    method: 'PUT',
    path: '/api/webhooks/endpoints/import',
    id: 'importEndpoints',
    scope: 'webhooks:write',
    summary: 'Make the endpoints with names what their definitions say, all or none',
    description:
      'An option that a definition leaves out goes to its default. Endpoints without a name are left alone. With `dryRun` nothing is changed.',
    parameters: ['Fields'],
    body: schemaReference('EndpointImport'),
    answers: { 200: jsonAnswer('What was changed, or would be.', schemaReference('EndpointImported')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance, body } = context;
      const { created, ...others } = await importEndpoints(savingOf(context), body, services.policy);
      services.dispatcher.wake(instance.id);
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
    enum: ['active', 'paused', 'disabled'],
    description: 'Of a new endpoint active or paused. That of an endpoint that there is stays as it is.',
  },
  secret: {
    type: ['string', 'null'],
    description:
      'Of a new endpoint; made by the service when it is left out. That of one that there is stays.',
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
        description:
          'Whether endpoints whose names are not among these are deleted; never those without one.',
      },
      dryRun: { type: 'boolean', default: false, description: 'Whether it is only said what would change.' },
    },
    ['deleteMissing', 'dryRun'],
  ),
  EndpointImported: objectSchema({
    created: listOf(
      {
        ...named,
        secret: { type: 'string', description: 'What signs; with the id, absent from a dry run.' },
        warnings: texts,
      },
      ['id', 'secret', 'warnings'],
    ),
    updated: listOf({ ...named, changed: { ...texts, description: 'The options that are others.' } }),
    unchanged: listOf(named),
    deleted: listOf(named),
  }),
};
