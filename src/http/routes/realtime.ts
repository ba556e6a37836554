import { AppError } from '../../base/errors.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { invalidValue } from '../../fields/field-error.ts';
import { realtimeLimits } from '../../realtime/apply-subscriptions.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer } from '../schemas/operation.ts';
import { objectSchema } from '../schemas/schema.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

const { subscriptionsMax, subscriptionLengthMax, clientIdLengthMax } = realtimeLimits;

/** Connections that are told of changes (http-api.md section 16). */
export const realtimeRoutes = [
  route({
    method: 'GET',
    path: '/api/realtime',
    id: 'connectRealtime',
    tag: 'realtime',
    scope: 'any',
    summary: 'Subscribe to record changes',
    description:
      'Server-Sent Events. The first is `PB_CONNECT` with the `clientId` by which subscriptions are set; each other one is named as its ' +
      'subscription, with `record` and `action` (`create`, `update`, `delete`) as data.',
    answers: {
      200: {
        ...emptyAnswer('The connection is open.'),
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
    },
    handle: async (context) => {
      const { realtime } = context.services;
      // Asked for first: what comes after the headers can refuse nothing.
      const connect = await realtime.admit(context.instance.id, addressOf(context));
      return {
        status: 200,
        headers: {
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          // For nginx, which would keep messages back until it has enough of them.
          'x-accel-buffering': 'no',
        },
        open: connect,
      };
    },
  }),
  route({
    method: 'POST',
    path: '/api/realtime',
    id: 'setSubscriptions',
    tag: 'realtime',
    scope: 'records:read',
    summary: 'Set the subscriptions of a connection, as the caller of this request',
    body: objectSchema({
      clientId: { type: 'string', minLength: 1, maxLength: clientIdLengthMax },
      subscriptions: {
        type: 'array',
        maxItems: subscriptionsMax,
        items: { type: 'string', minLength: 1, maxLength: subscriptionLengthMax },
        description:
          '`posts/*`, `posts/<id>`, or the name of other messages; all that there were before are given up.',
      },
    }),
    answers: { 204: emptyAnswer('The connection gets these from now on.') },
    handle: async (context) => {
      const { services, instance, caller, request, body } = context;
      const { clientId = '', subscriptions = [] } = body;
      const details = {
        ...(typeof clientId !== 'string' && { clientId: invalidValue('Must be text.') }),
        ...(!isTexts(subscriptions) && { subscriptions: invalidValue('Must be a list of texts.') }),
      };
      if (typeof clientId !== 'string' || !isTexts(subscriptions))
        throw new AppError('bad_request', 'Failed to set the subscriptions.', { details });
      const { authorization } = request.headers;
      const address = addressOf(context);
      await services.realtime.subscribe(instance, {
        clientId,
        subscriptions,
        caller,
        authorization,
        address,
      });
      return nothing;
    },
  }),
];

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function addressOf({ address }: RequestContext): string {
  return ipAddressText(address);
}
