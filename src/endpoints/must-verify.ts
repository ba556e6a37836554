import { catcherOfUrl } from './catchers.ts';
import { type Endpoint, isStopped } from './endpoint.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/*
 * An account could have webhooks sent to anybody. So the receiver of an endpoint with an owner is asked first whether it wants them
 * (dispatch/verifications.ts), and until it has confirmed that, the endpoint is sent nothing else.
 */

type VerifyingInstance = Pick<WebhookInstance, 'settings' | 'sealer'>;

/** Whether the receiver of an endpoint has to confirm that it wants webhooks. A catcher is this service itself. */
export function mustVerify(
  { settings, sealer }: VerifyingInstance,
  { owner, verified, url }: Pick<Endpoint, 'owner' | 'verified' | 'url'>,
): boolean {
  const isRequired = settings.current.webhooks.verifyAccountEndpoints;
  return isRequired && owner !== '' && verified === '' && catcherOfUrl(sealer, url) === undefined;
}

/** Whether an endpoint may be sent nothing but a challenge. An active one may be older than the setting, and stays active. */
export function isUnverified(instance: VerifyingInstance, endpoint: Endpoint): boolean {
  if (endpoint.status === 'active') return false;
  return endpoint.status === 'unverified' || mustVerify(instance, endpoint);
}

const notConfirmed = 'Its receiver has not confirmed a challenge yet.';

type EndpointStatus = Pick<Endpoint, 'status' | 'statusReason'>;

export const pausedStatus: EndpointStatus = { status: 'paused', statusReason: '' };

/** Returns the status of an endpoint that is to be sent webhooks: active, or unverified until its receiver has confirmed that. */
export function sendingStatus(
  instance: VerifyingInstance,
  endpoint: Pick<Endpoint, 'owner' | 'verified' | 'url'>,
): EndpointStatus {
  return mustVerify(instance, endpoint)
    ? { status: 'unverified', statusReason: notConfirmed }
    : { status: 'active', statusReason: '' };
}

/** Returns a changed endpoint with the status that follows: another URL, or an owner, needs a confirmation of its own. */
export function verifiedAfter(
  instance: VerifyingInstance,
  { before, after }: { readonly before: Endpoint; readonly after: Endpoint },
): Endpoint {
  const isSame = before.url === after.url;
  const endpoint = isSame ? after : { ...after, verified: '' };
  if (isSame && before.owner === after.owner) return endpoint;
  return isStopped(endpoint) ? endpoint : { ...endpoint, ...sendingStatus(instance, endpoint) };
}
