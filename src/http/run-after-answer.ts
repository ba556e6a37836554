import type { FastifyRequest } from 'fastify';
import type { WorkAfterAnswer } from '../auth/account-request.ts';
import { assert } from '../base/assert.ts';
import { busy } from '../base/errors.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import type { Mailer } from '../mail/mailer.ts';

export interface AfterAnswer {
  readonly instances: OpenInstances;
  readonly mailer: Mailer;
}

/** Has a work done once this request is answered; its instance stays open for it. False, and nothing is done, when too much waits. */
export async function runAfterAnswer(
  { instances, mailer }: AfterAnswer,
  request: FastifyRequest<object>,
  work: WorkAfterAnswer,
): Promise<boolean> {
  const entry = request.instanceEntry;
  assert(entry !== null, 'a request of an operation has an instance');
  const loan = await instances.borrow(entry);
  const isTaken = mailer.prepare(entry.id, () => work(loan.instance, mailer).finally(() => loan.release()));
  if (!isTaken) loan.release();
  return isTaken;
}

/** As {@link runAfterAnswer}, of what the request is about. Throws unavailable. */
export async function requireAfterAnswer(
  options: AfterAnswer,
  request: FastifyRequest<object>,
  work: WorkAfterAnswer,
): Promise<void> {
  if (await runAfterAnswer(options, request, work)) return;
  throw busy();
}
