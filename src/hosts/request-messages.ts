import { systemClock } from '../base/clock.ts';
import type { LoggedRequest } from '../http/host/log-request.ts';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { InstanceRoute } from '../http/route.ts';
import type { LoggedMessage, RequestMessage } from './host-messages.ts';

/** Returns a request as the host of its instance is sent it. */
export function toRequestMessage(
  token: number,
  route: InstanceRoute,
  request: InstanceRequest,
): RequestMessage {
  const { entry, isOperator, fullUrl, params, bytes, bodyBytes, isFormWaiting } = request;
  const common = { entry, isOperator, fullUrl, params, bytes, bodyBytes, isFormWaiting };
  return { token, route: route.id, ...toLoggedMessage(request), ...common };
}

/** Returns what the log of an instance has of a request. */
export function toLoggedMessage({ id, method, url, headers, peer, startedMs }: LoggedRequest): LoggedMessage {
  return { id, method, url, headers, peer, ageMs: systemClock.monotonic() - startedMs };
}
