import type { AccountRequest } from '../../auth/account-request.ts';
import { confirmEmailChange, requestEmailChange } from '../../auth/email-change.ts';
import { confirmPasswordReset, requestPasswordReset } from '../../auth/password-reset.ts';
import { requestOtp } from '../../auth/request-otp.ts';
import { confirmVerification, requestVerification } from '../../auth/verification.ts';
import { ownMember } from '../../base/json.ts';
import { type Answer, nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

const common = { method: 'POST', tag: 'auth', parameters: ['Collection'], formValues: 'texts' } as const;
const mailed = 'If there is such an account, a mail is on its way.';
const mailRequest = { ...common, answers: { 204: emptyAnswer(mailed) } } as const;
const confirmation = { ...common, answers: { 204: emptyAnswer('Done.') }, refusals: [409, 507] } as const;

/** What accounts do by mail. A request sends a mail, and a confirmation takes the token in it. */
export const accountRoutes = [
  route({
    ...mailRequest,
    path: '/api/collections/:collection/request-verification',
    id: 'requestVerification',
    actions: ['requestVerification'],
    summary: 'Request a verification email',
    body: schemaReference('AccountAddress'),
    handle: (context) => sendMail(context, 'email', requestVerification),
  }),
  route({
    ...confirmation,
    path: '/api/collections/:collection/confirm-verification',
    id: 'confirmVerification',
    actions: ['confirmVerification'],
    summary: 'Verify an account with the token of the email',
    body: objectSchema({ token: tokenSchema() }),
    handle: (context) => confirm(context, confirmVerification),
  }),
  route({
    ...mailRequest,
    path: '/api/collections/:collection/request-password-reset',
    id: 'requestPasswordReset',
    actions: ['requestPasswordReset'],
    summary: 'Request a password reset email',
    body: schemaReference('AccountAddress'),
    handle: (context) => sendMail(context, 'email', requestPasswordReset),
  }),
  route({
    ...confirmation,
    path: '/api/collections/:collection/confirm-password-reset',
    id: 'confirmPasswordReset',
    actions: ['confirmPasswordReset'],
    summary: 'Set a new password with the token of the email; ends all sessions',
    body: objectSchema({ token: tokenSchema(), password: secretSchema(), passwordConfirm: secretSchema() }),
    handle: (context) => confirm(context, confirmPasswordReset),
  }),
  route({
    ...mailRequest,
    path: '/api/collections/:collection/request-email-change',
    id: 'requestEmailChange',
    actions: ['requestEmailChange'],
    summary: 'Request an email change; the token is sent to the new address',
    body: objectSchema({ newEmail: { type: 'string', format: 'email', maxLength: 255 } }),
    refusals: [401, 403],
    handle: (context) => sendMail(context, 'newEmail', requestEmailChange),
  }),
  route({
    ...confirmation,
    path: '/api/collections/:collection/confirm-email-change',
    id: 'confirmEmailChange',
    actions: ['confirmEmailChange'],
    summary: 'Change the email address with the token of the email and the password; ends all sessions',
    body: objectSchema({ token: tokenSchema(), password: secretSchema() }),
    handle: (context) => confirm(context, confirmEmailChange),
  }),
  route({
    ...common,
    path: '/api/collections/:collection/request-otp',
    id: 'requestOtp',
    actions: ['requestOTP'],
    summary: 'Request a one-time password by email',
    parameters: ['Collection', 'Fields'],
    body: schemaReference('AccountAddress'),
    answers: {
      200: jsonAnswer(
        mailed,
        objectSchema({ otpId: { type: 'string', description: 'Send it back with the code.' } }),
      ),
    },
    handle: async (context) => {
      const mailRequest = await admitMail(context, 'email');
      const { otpId, work } = await requestOtp(context.instance, mailRequest);
      if (work !== undefined) await context.requireAfterAnswer(work);
      return context.answer(JSON.stringify({ otpId }), { headers: notStored });
    },
  }),
];

type AccountContext = RequestContext<{ readonly collection: string }>;

/** Runs a request whose mail goes out after the answer. `member` of the body has the address. */
async function sendMail(
  context: AccountContext,
  member: 'email' | 'newEmail',
  request: typeof requestVerification,
): Promise<Answer> {
  await context.requireAfterAnswer(await request(context.instance, await admitMail(context, member)));
  return nothing;
}

/** Confirms a request with the token of its mail. */
async function confirm(context: AccountContext, take: typeof confirmVerification): Promise<Answer> {
  await take(context.instance, accountRequest(context));
  return nothing;
}

/** As {@link accountRequest}. Throws too_many_requests when the client has requested too many mails; `member` of the body has the address. */
async function admitMail(context: AccountContext, member: 'email' | 'newEmail'): Promise<AccountRequest> {
  const mailRequest = accountRequest(context);
  await context.services.admission.admitMail(context, ownMember(mailRequest.body, member));
  return mailRequest;
}

/** Reads an account request. Throws forbidden for one about superusers from an address that they may not come from. */
function accountRequest({
  services,
  request,
  instance,
  params,
  input,
  body,
}: AccountContext): AccountRequest {
  const { collection } = params;
  services.admission.requirePlaceOf(instance, collection, request);
  return { collection, input, body };
}

function tokenSchema(): Schema {
  return { type: 'string', description: 'The token of the email. It can be used once.' };
}

function secretSchema(): Schema {
  return { type: 'string', minLength: 1, maxLength: 512 };
}

export const accountSchemas: Readonly<Record<string, Schema>> = {
  AccountAddress: objectSchema({ email: { type: 'string', format: 'email', maxLength: 255 } }),
};
