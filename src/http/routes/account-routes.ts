import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AccountRequest, WorkAfterAnswer } from '../../auth/account-request.ts';
import { confirmEmailChange } from '../../auth/mailed/confirm-email-change.ts';
import { confirmPasswordReset } from '../../auth/mailed/confirm-password-reset.ts';
import { confirmVerification } from '../../auth/mailed/confirm-verification.ts';
import { requestEmailChange } from '../../auth/mailed/request-email-change.ts';
import { requestOtp } from '../../auth/request-otp.ts';
import { requestPasswordReset } from '../../auth/mailed/request-password-reset.ts';
import { requestVerification } from '../../auth/mailed/request-verification.ts';
import { ownMember } from '../../base/json.ts';
import { answer, answerNothing } from '../answer.ts';
import { requireAfterAnswer, type AfterAnswer } from '../run-after-answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstance, type RequestContext } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

interface CollectionPath {
  Params: { collection: string };
}

type Ask = (context: RequestContext, asked: AccountRequest) => Promise<WorkAfterAnswer>;
type Confirm = (context: RequestContext, asked: AccountRequest) => Promise<void>;

const path = '/api/collections/:collection';

/** Routes for what accounts do by mail. A request sends a mail, and a confirmation takes the token in it. */
export function accountRoutes(app: FastifyInstance, options: AfterAnswer): void {
  const { instances } = options;
  const asks: Readonly<Record<string, Ask>> = {
    'request-verification': ({ instance }, asked) => requestVerification(instance, asked),
    'request-password-reset': ({ instance }, asked) => requestPasswordReset(instance, asked),
    'request-email-change': ({ instance }, asked) => requestEmailChange(instance, asked),
  };
  for (const [name, ask] of Object.entries(asks))
    app.post<CollectionPath>(
      `${path}/${name}`,
      { config: { formValues: 'texts' } },
      onInstance<CollectionPath>(instances, async (context, request, reply) => {
        const asked = askedBy(context, request);
        await admitMail(context, request, name === 'request-email-change' ? 'newEmail' : 'email');
        const work = await ask(context, asked);
        await requireAfterAnswer(options, request, work);
        return answerNothing(request, reply);
      }),
    );

  app.post<CollectionPath>(
    `${path}/request-otp`,
    { config: { formValues: 'texts' } },
    onInstance<CollectionPath>(instances, async (context, request, reply) => {
      const asked = askedBy(context, request);
      await admitMail(context, request, 'email');
      const { otpId, work } = await requestOtp(context.instance, asked);
      if (work !== undefined) await requireAfterAnswer(options, request, work);
      return answer(request, reply, {
        json: JSON.stringify({ otpId }),
        headers: { 'cache-control': 'no-store' },
      });
    }),
  );

  const confirms: Readonly<Record<string, Confirm>> = {
    'confirm-verification': ({ instance }, asked) => confirmVerification(instance, asked),
    'confirm-password-reset': ({ instance }, asked) => confirmPasswordReset(instance, asked),
    'confirm-email-change': ({ instance }, asked) => confirmEmailChange(instance, asked),
  };
  for (const [name, confirm] of Object.entries(confirms))
    app.post<CollectionPath>(
      `${path}/${name}`,
      { config: { formValues: 'texts' } },
      onInstance<CollectionPath>(instances, async (context, request, reply) => {
        await confirm(context, askedBy(context, request));
        return answerNothing(request, reply);
      }),
    );
}

/** Throws too_many_requests when the client has asked for too many mails. `member` of the body is where this one is to go. */
function admitMail(
  { instance, caller }: RequestContext,
  request: FastifyRequest<object>,
  member: 'email' | 'newEmail',
): Promise<void> {
  const to = ownMember(bodyOf(request), member);
  return request.server.admission.admitMail({ instance, caller, request }, to);
}

/** Reads an account request. Throws forbidden for one about superusers from an address that they may not come from. */
function askedBy(
  { instance, caller }: RequestContext,
  request: FastifyRequest<CollectionPath>,
): AccountRequest {
  const { collection } = request.params;
  request.server.admission.requirePlaceOf(instance, collection, request);
  return { collection, facts: factsOf(request, caller), body: bodyOf(request) };
}
