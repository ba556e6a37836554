import type { FastifyRequest } from 'fastify';
import type { WorkAfterAnswer } from '../auth/account-request.ts';
import { assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import type { Mailer } from '../mail/mailer.ts';

export interface AfterAnswer {
  readonly instances: OpenInstances;
  readonly mailer: Mailer;
}

/** Has a work done once this request is answered; its instance stays open for it. Throws unavailable, and nothing is done. */
export async function runAfterAnswer(
  { instances, mailer }: AfterAnswer,
  request: FastifyRequest<object>,
  work: WorkAfterAnswer,
): Promise<void> {
  const entry = request.instanceEntry;
  assert(entry !== null, 'a request of an operation has an instance');
  const loan = await instances.borrow(entry);
  const isTaken = mailer.prepare(entry.id, () => work(loan.instance, mailer).finally(() => loan.release()));
  if (isTaken) return;
  loan.release();
  throw new AppError('unavailable', 'The service is busy, try again.', { retryAfter: 1 });
}
