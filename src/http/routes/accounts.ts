import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AccountRequest, WorkAfterAnswer } from '../../auth/account-request.ts';
import { confirmEmailChange, requestEmailChange } from '../../auth/email-change.ts';
import { confirmPasswordReset, requestPasswordReset } from '../../auth/password-reset.ts';
import { requestOtp } from '../../auth/request-otp.ts';
import { confirmVerification, requestVerification } from '../../auth/verification.ts';
import { ownMember } from '../../base/json.ts';
import { type AfterAnswer, requireAfterAnswer } from '../after-answer.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { emptyAnswer, operation, type OperationParts } from '../openapi/operation.ts';
import { objectSchema, type Operation, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstance, type RequestContext } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

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
  return { collection, facts: ruleInput(request, caller), body: bodyOf(request) };
}

const accountPath = '/api/collections/{collection}';

/** What accounts do by mail. */
export const accountPaths: Paths = {
  [`${accountPath}/request-verification`]: {
    post: asked({
      id: 'requestVerification',
      summary: 'Send an account the mail that verifies its address',
      body: schemaReference('AccountAddress'),
    }),
  },
  [`${accountPath}/confirm-verification`]: {
    post: confirmed({
      id: 'confirmVerification',
      summary: 'Verify an account with the token of that mail',
      body: objectSchema({ token: tokenSchema() }),
    }),
  },
  [`${accountPath}/request-password-reset`]: {
    post: asked({
      id: 'requestPasswordReset',
      summary: 'Send an account the mail with which it chooses a new password',
      body: schemaReference('AccountAddress'),
    }),
  },
  [`${accountPath}/confirm-password-reset`]: {
    post: confirmed({
      id: 'confirmPasswordReset',
      summary: 'Set a new password with the token of that mail; all sessions end',
      body: objectSchema({ token: tokenSchema(), password: secretSchema(), passwordConfirm: secretSchema() }),
    }),
  },
  [`${accountPath}/request-email-change`]: {
    post: asked({
      id: 'requestEmailChange',
      summary: 'Send the mail that gives the account of this request another address to that address',
      body: objectSchema({ newEmail: { type: 'string', format: 'email', maxLength: 255 } }),
      refusals: [401, 403],
    }),
  },
  [`${accountPath}/confirm-email-change`]: {
    post: confirmed({
      id: 'confirmEmailChange',
      summary: 'Change the address with the token of that mail and the password; all sessions end',
      body: objectSchema({ token: tokenSchema(), password: secretSchema() }),
    }),
  },
};

type AccountParts = Omit<OperationParts, 'tag' | 'parameters' | 'answers'>;

function asked(parts: AccountParts): Operation {
  return operation({
    ...parts,
    tag: 'auth',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('If there is such an account, a mail is on its way.') },
  });
}

function confirmed(parts: AccountParts): Operation {
  return operation({
    ...parts,
    tag: 'auth',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('Done.') },
    refusals: [409, 507],
  });
}

function tokenSchema(): Schema {
  return { type: 'string', description: 'Of the mail; good for one use.' };
}

function secretSchema(): Schema {
  return { type: 'string', minLength: 1, maxLength: 512 };
}

export const accountSchemas: Readonly<Record<string, Schema>> = {
  AccountAddress: objectSchema({ email: { type: 'string', format: 'email', maxLength: 255 } }),
};
