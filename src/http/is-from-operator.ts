import type { FastifyRequest } from 'fastify';
import { isInCidr } from '../base/cidr.ts';
import { defaultSlug } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import { loopbackRanges } from '../network/address-guard.ts';
import { findProxyHeader } from './find-proxy-header.ts';

/**
 * True for a request of a superuser that most likely comes from who runs the server: to the default instance, from the same machine
 * and through no proxy. It decides only whether a refusal names the flag that would lift it, and must never permit anything.
 */
export function isFromOperator(instance: Instance, request: FastifyRequest<object>): boolean {
  if (instance.slug !== defaultSlug || findProxyHeader(request.headers) !== undefined) return false;
  const address = request.server.admission.addressOf(instance, request);
  return loopbackRanges.some((range) => isInCidr(address, range));
}
