import { assert } from '../base/assert.ts';
import { AppError, type FieldError } from '../base/errors.ts';
import { isJsonObject, type JsonObject, ownMember } from '../base/json.ts';
import { type AuthOptions, type EmailTemplate, superusersName } from '../collections/collection.ts';
import { fieldError } from '../fields/field-error.ts';
import type { Instance } from '../instances/instance.ts';
import { SharedCounter } from '../limits/shared-counter.ts';
import type { Mailer } from '../mail/mailer.ts';
import { type MailValues, renderMail } from '../mail/render-mail.ts';
import { recordToJson, type StoredRecord, valueOf } from '../records/record.ts';
import { decodeForm, emailProblem, refuseForm } from './account-request.ts';

export interface AccountMail {
  readonly record: StoredRecord;
  readonly to: string;
  /** What the mail is for; shown in the log. Two mails of one purpose to one address must be a pause apart. */
  readonly purpose: string;
  readonly template: EmailTemplate;
  /** Called only if the mail is going to be sent. */
  readonly values: () => Promise<Omit<MailValues, 'meta' | 'field'>>;
  /** How long the pause is, so that repeated requests cannot fill a mailbox. 0 where something else bounds the mails. */
  readonly pauseMs?: number;
}

/** The pause between two mails that anybody may request; docs/accounts.md repeats it. */
const mailPauseMs = 2 * 60_000;

const sent = new SharedCounter({ kind: 'mail' });

/** Sends a mail to an account. Resolves once the mail is queued; whether it could be sent is logged. */
export async function mailAccount(instance: Instance, mailer: Mailer, mail: AccountMail): Promise<void> {
  const { record, to, purpose, template, values, pauseMs: durationMs = mailPauseMs } = mail;
  const key = [purpose, record.collection.id, valueOf(record, 'id'), to].join('|');
  const count = durationMs > 0 ? await sent.take(instance, key, { max: 1, durationMs }) : undefined;
  if (count?.isAllowed === false) return;
  try {
    const { meta } = instance.settings.current;
    const text = renderMail(template, { ...(await values()), meta, field: fieldReader(record) });
    const sending = mailer.send(instance, { ...text, to, purpose });
    // Not awaited: sending may take half a minute. If it fails, the mail may be requested again at once.
    void sending.then(({ kind }) => (kind === 'failed' ? count?.refund() : undefined));
  } catch (error) {
    await count?.refund();
    throw error;
  }
}

/** Reads fields as the account itself sees them: fields hidden from it must not come by mail either. */
function fieldReader(record: StoredRecord): (name: string) => string {
  const recordJson: unknown = JSON.parse(recordToJson(record, 'account'));
  return (name) => {
    const value = isJsonObject(recordJson) ? (ownMember(recordJson, name) ?? '') : '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
}

/** Templates by the names that the API gives them. */
export const mailTemplates: ReadonlyMap<string, (auth: AuthOptions) => EmailTemplate> = new Map([
  ['verification', (auth: AuthOptions) => auth.verificationTemplate],
  ['password-reset', (auth) => auth.resetPasswordTemplate],
  ['email-change', (auth) => auth.confirmEmailChangeTemplate],
  ['otp', (auth) => auth.otp.emailTemplate],
  ['login-alert', (auth) => auth.authAlert.emailTemplate],
]);

/**
 * Sends one of a collection's mails with made-up values, to show whether and how it arrives. Throws bad_request, also with the answer of
 * the mail server.
 */
export async function sendTestMail(instance: Instance, mailer: Mailer, body: JsonObject): Promise<void> {
  const form = decodeForm(body, ['email', 'template', 'collection']);
  const { auth } = instance.collections.find(form.collection || superusersName) ?? {};
  const templateOf = mailTemplates.get(form.template);
  const problems = {
    email: emailProblem(form.email),
    template: templateOf === undefined ? templateProblem(form.template) : undefined,
    collection: auth === undefined ? noAuthCollection : undefined,
  };
  refuseForm(problems, 'Failed to send the test email.');
  assert(
    auth !== undefined && templateOf !== undefined,
    'an unknown collection or template was rejected before',
  );
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
