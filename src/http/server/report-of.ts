import type { FastifyRequest } from 'fastify';
import { emptyReport, type RequestReport } from '../instance-request.ts';

/** What the host of the instance knows of a request, which nobody has asked for before. */
export function reportOf(request: FastifyRequest): RequestReport {
  return (request.report ??= emptyReport());
}
