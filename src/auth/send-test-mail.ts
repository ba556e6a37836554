import { assert } from '../base/assert.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { AuthOptions, EmailTemplate } from '../collections/auth-options.ts';
import { superusersName } from '../collections/superusers-name.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import type { Mailer } from '../mail/mailer.ts';
import { renderMail } from '../mail/render-mail.ts';
import { decodeForm, refuseForm } from './decode-form.ts';
import { emailProblem } from './email-problem.ts';

/** Templates by the names that the API gives them. */
const templates: ReadonlyMap<string, (auth: AuthOptions) => EmailTemplate> = new Map([
  ['verification', (auth: AuthOptions) => auth.verificationTemplate],
  ['password-reset', (auth) => auth.resetPasswordTemplate],
  ['email-change', (auth) => auth.confirmEmailChangeTemplate],
  ['otp', (auth) => auth.otp.emailTemplate],
  ['login-alert', (auth) => auth.authAlert.emailTemplate],
]);

/**
 * Sends one of a collection's mails with made-up values, to show whether and how it arrives. Throws bad_request, also with what the
 * mail server has answered.
 */
export async function sendTestMail(instance: Instance, mailer: Mailer, body: JsonObject): Promise<void> {
  const form = decodeForm(body, ['email', 'template', 'collection']);
  const { auth } = instance.collections.find(form.collection || superusersName) ?? {};
  const templateOf = templates.get(form.template);
  refuseForm({
    email: emailProblem(form.email),
    template: templateOf === undefined ? templateProblem(form.template) : undefined,
    collection: auth === undefined ? noAuthCollection : undefined,
  });
  assert(auth !== undefined && templateOf !== undefined, 'what is missing was refused');
  const text = renderMail(templateOf(auth), {
    meta: instance.settings.current.meta,
    token: 'test-token',
    otp: '0'.repeat(auth.otp.length),
    otpId: 'test-otp-id',
    alertInfo: 'this is a test',
    field: (name) => (name === 'email' ? form.email : name),
  });
  const result = await mailer.send(instance, { ...text, to: form.email, purpose: 'test' });
  if (result.kind === 'failed')
    throw new AppError('bad_request', `Failed to send the test email. ${result.reason}`);
}

function templateProblem(template: string): FieldError {
  return fieldError(template === '' ? 'validation_required' : 'validation_in_invalid');
}

const noAuthCollection: FieldError = {
  code: 'validation_invalid_auth_collection',
  message: 'Must be an existing auth collection.',
};
