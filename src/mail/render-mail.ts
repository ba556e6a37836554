import type { EmailTemplate } from '../collections/auth-options.ts';
import type { Settings } from '../settings/settings.ts';
import type { MailText } from './mail.ts';

/** The values of a template's placeholders. A placeholder without a value in this mail stays as written. */
export interface MailFacts {
  readonly meta: Settings['meta'];
  readonly token?: string;
  readonly otp?: string;
  readonly otpId?: string;
  readonly alertInfo?: string;
  /** `{RECORD:name}`: the value of a field as text. */
  readonly field: (name: string) => string;
}

const PLACEHOLDER = /\{(?:(APP_NAME|APP_URL|TOKEN|OTP|OTP_ID|ALERT_INFO)|RECORD:(\w{1,255}))\}/g;

/** Names may be as long as a text field, but a header line should not be. */
const subjectLengthMax = 255;

/** Fills a template. Values may come from anyone who signs up, so they are escaped in the body and kept on one line in the subject. */
export function renderMail(template: EmailTemplate, facts: MailFacts): MailText {
  return {
    subject: fill(template.subject, facts, (value) => value)
      .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
      .slice(0, subjectLengthMax)
      .toWellFormed(),
    html: fill(template.body, facts, escapeHtml),
  };
}

/** Fills placeholders in one pass: values are not searched again, or an account named `{TOKEN}` would put the token into a subject. */
function fill(text: string, facts: MailFacts, write: (value: string) => string): string {
  const { meta, token, otp, otpId, alertInfo } = facts;
  const values: Readonly<Record<string, string | undefined>> = {
    APP_NAME: meta.appName,
    APP_URL: meta.appURL.replace(/\/+$/, ''),
    TOKEN: token,
    OTP: otp,
    OTP_ID: otpId,
    ALERT_INFO: alertInfo,
  };
  return text.replaceAll(PLACEHOLDER, (whole, name: string | undefined, field: string | undefined) => {
    const value = field === undefined ? values[name ?? ''] : facts.field(field);
    return value === undefined ? whole : write(value);
  });
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
