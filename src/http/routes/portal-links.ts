import {
  createPortalLink,
  deletePortalLink,
  getOwnPortal,
  listPortalLinks,
  openPortalLink,
  portalLimits,
} from '../../auth/portal-links.ts';
import { apiKeyLimits } from '../../auth/api-keys.ts';
import { reachedEndpoints } from '../../access/caller.ts';
import { defaultSettings } from '../../settings/settings.ts';
import { nothing, notStored } from '../answer.ts';
import type { RequestContext } from '../request-context.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const linksPath = '/api/webhooks/portal-links';
const common = { tag: 'webhooks', isForSuperusers: true } as const;

/** Links that sign customers in to a portal with their endpoints, for superusers; and what the page behind such a link needs. */
export const portalLinkRoutes = [
  route({
    ...common,
    method: 'GET',
    path: linksPath,
    id: 'listPortalLinks',
    scope: 'webhooks:read',
    summary: 'List portal links and their sessions, without those that have ended',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The links.', schemaReference('PortalLinkList')) },
    handle: async (context) => context.answerList(await listPortalLinks(context.instance, context.listQuery)),
  }),
  route({
    ...common,
    method: 'POST',
    path: linksPath,
    id: 'createPortalLink',
    scope: 'webhooks:write',
    summary: 'Create a link that signs in to a portal once; only this answer returns it',
    parameters: ['Fields'],
    body: schemaReference('PortalLinkCreate'),
    formValues: 'texts',
    answers: { 201: jsonAnswer('The link.', schemaReference('PortalLinkWithUrl')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { link, token } = await createPortalLink(context.instance, context.body, context.input);
      const url = `${baseUrl(context)}/_/portal#${token}`;
      return context.answer(JSON.stringify({ ...link, url }), { status: 201, headers: notStored });
    },
  }),
  route({
    method: 'POST',
    path: `${linksPath}/use`,
    id: 'usePortalLink',
    tag: 'webhooks',
    scope: 'any',
    summary: 'Sign in with a portal link, which is used up',
    description: 'The answer to a link that is wrong, expired, used or deleted is the same.',
    parameters: ['Fields'],
    body: objectSchema({ token: { type: 'string', description: 'What follows the `#` of the URL.' } }),
    formValues: 'texts',
    answers: { 200: jsonAnswer('The session.', schemaReference('PortalSessionWithToken')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { link, token } = await openPortalLink(context.instance, context.body, context.input);
      return context.answer(JSON.stringify({ ...link, token }), { headers: notStored });
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: `${linksPath}/current`,
    id: 'getOwnPortal',
    scope: 'webhooks:read',
    endpointKeys: 'narrowed',
    summary: 'Get the session of this request, with the endpoints that it reaches now',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The session.', schemaReference('PortalSession')) },
    handle: async (context) => {
      const { instance, caller } = context;
      const session = await getOwnPortal(instance, caller);
      const mayCreate = caller.kind === 'user' && session.scopes.includes('webhooks:write');
      return context.answer(
        JSON.stringify({ ...session, endpoints: reachedEndpoints(caller) ?? [], mayCreate }),
      );
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: `${linksPath}/current`,
    id: 'endOwnPortal',
    scope: 'webhooks:read',
    endpointKeys: 'narrowed',
    summary: 'Sign out: end the session of this request, which is rejected from the answer on',
    answers: { 204: emptyAnswer('The session has ended.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ instance, caller, input }) => {
      const { id } = await getOwnPortal(instance, caller);
      await deletePortalLink(instance, id, input);
      return nothing;
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: `${linksPath}/:id`,
    id: 'deletePortalLink',
    scope: 'webhooks:write',
    summary: 'Delete a portal link and end its session; both are rejected from the answer on',
    parameters: ['PortalLinkId'],
    answers: { 204: emptyAnswer('The link is deleted.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ instance, params, input }) => {
      await deletePortalLink(instance, params.id, input);
      return nothing;
    },
  }),
];

/** Returns the address of the instance: that of its settings, or until these have one, the one that this request was sent to. */
function baseUrl({ instance, request }: Pick<RequestContext, 'instance' | 'request'>): string {
  const { appURL } = instance.settings.current.meta;
  if (appURL !== defaultSettings.meta.appURL) return appURL.replace(/\/+$/, '');
  return request.fullUrl.slice(0, request.fullUrl.indexOf(linksPath));
}

const text: Schema = { type: 'string' };

const settings: Readonly<Record<string, Schema>> = {
  endpoints: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: apiKeyLimits.endpointsMax,
    items: text,
    description: 'Ids of the endpoints that it reaches; null with an owner.',
  },
  owner: {
    type: 'string',
    description:
      'An account, `<collection>/<id>`, whose endpoints it reaches, now and later; empty with endpoints. Shown with the id of the collection.',
  },
  scopes: {
    type: 'array',
    minItems: 1,
    items: { type: 'string', enum: ['webhooks:read', 'webhooks:write'] },
    description: 'Both by default.',
  },
  expires: {
    type: 'string',
    description: `Until when the link can be opened: an hour by default, at most seven days. Once it is opened, when its session ends if it is not used: ${portalLimits.idleMs / 60_000} minutes after the last request.`,
  },
};

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  created: text,
  opened: { type: 'string', description: 'When it was opened; empty until then.' },
  ends: {
    type: 'string',
    description: 'When its session ends, however much it is used; empty until it is opened.',
  },
};

const secrets = {
  url: { type: 'string', description: 'The address that signs in once.' },
  token: { type: 'string', description: 'The session: `cp_…`, sent like an API key.' },
} as const satisfies Readonly<Record<string, Schema>>;

export const portalLinkSchemas: Readonly<Record<string, Schema>> = {
  PortalLink: objectSchema(members),
  PortalLinkWithUrl: objectSchema({ ...members, url: secrets.url }),
  PortalLinkList: listSchema(schemaReference('PortalLink')),
  PortalLinkCreate: objectSchema(settings, Object.keys(settings)),
  PortalSessionWithToken: objectSchema({ ...members, token: secrets.token }),
  PortalSession: objectSchema({
    ...members,
    endpoints: { type: 'array', items: text, description: 'Ids of the endpoints that it reaches now.' },
    mayCreate: { type: 'boolean', description: 'Whether it may create and delete endpoints of its owner.' },
  }),
};
