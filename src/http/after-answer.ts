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

/** Queues `work` for after the answer, and keeps the instance open for it. Returns false, and does nothing, when the queue is full. */
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

/** As {@link runAfterAnswer}, for work that is the purpose of the request. Throws unavailable when the queue is full. */
export async function requireAfterAnswer(
  options: AfterAnswer,
  request: FastifyRequest<object>,
  work: WorkAfterAnswer,
): Promise<void> {
  if (await runAfterAnswer(options, request, work)) return;
  throw busy();
}
