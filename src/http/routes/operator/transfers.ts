import { AppError } from '../../../base/errors.ts';
import { fieldError } from '../../../fields/field-error.ts';
import { archiveInstance, cloneInstance, type WholeRequest } from '../../../operator/instance-transfers.ts';
import type { Answer } from '../../answer.ts';
import { fileAnswer } from '../../file-answer.ts';
import type { OperatorContext } from '../../operator-context.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';
import { managedJson } from './instances.ts';

type OneContext = OperatorContext<{ readonly instance: string }>;

const onOne = { tag: 'operator', parameters: ['ManagedInstance', 'Fields'] } as const;

/** Instances as wholes, for the programs of the operator. */
export const operatorTransferRoutes = [
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/instances/:instance/clone',
    id: 'cloneInstance',
    scope: 'instances:write',
    summary: 'Copy an instance, as it is now, into a new one with paused endpoints',
    description: 'Answers when the copy is whole. A client that goes away does not end it.',
    body: schemaReference('InstanceClone'),
    answers: { 201: jsonAnswer('The copy.', schemaReference('ManagedInstance')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { operator, body } = context;
      const { slug } = body;
      if (typeof slug !== 'string')
        throw new AppError('bad_request', 'Failed to clone instance.', {
          details: { slug: fieldError('validation_required') },
        });
      const copy = await cloneInstance(operator, slug, requestOf(context));
      return context.answer(managedJson(context, copy), { status: 201 });
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    path: '/instances/:instance/archive',
    id: 'archiveInstance',
    scope: 'admin',
    summary: 'Download an archive of an instance as it is now',
    description: 'It has everything of the instance; its secrets are sealed with the master key.',
    parameters: ['ManagedInstance'],
    answers: { 200: { description: 'The archive.', content: { '*/*': { schema: {} } } } },
    refusals: [507],
    handle: async (context) => archiveAnswer(context),
  }),
];

async function archiveAnswer(context: OneContext): Promise<Answer> {
  const { place, name } = await archiveInstance(context.operator, requestOf(context));
  const archive = await place.find(name);
  if (archive === undefined) throw new AppError('unavailable', 'The archive is gone: try again.');
  const state = { size: archive.size, modifiedMs: Math.floor(archive.modifiedMs), type: 'application/zip' };
  const [slug = ''] = name.split('.');
  const file = {
    store: place,
    key: name,
    name: `${slug}.chancery`,
    state,
    isProtected: true,
    isDownload: true,
  };
  // The whole: another request makes another archive.
  const answer = await fileAnswer({ method: 'GET', headers: {} }, file);
  const body = answer.content?.body;
  const remove = (): void => void place.remove(name).catch(() => undefined);
  if (body !== undefined && 'once' in body) body.once('close', remove);
  else remove();
  return answer;
}

function requestOf({ params, actor, request }: OneContext): WholeRequest {
  return { name: params.instance, actor, isGone: request.isGone };
}

export const operatorTransferSchemas: Readonly<Record<string, Schema>> = {
  InstanceClone: objectSchema({ slug: { type: 'string', description: 'The slug of the copy.' } }),
};
