import { membersOf } from '../../api/members-of.ts';
import type { Schemas } from '../../api/schema.ts';

export type TemplateName = Schemas['TestMail']['template'];

interface MailTemplate {
  readonly label: string;
  /** Where a definition has the template. */
  readonly path: string;
  readonly placeholders: readonly string[];
}

const templates: Readonly<Record<TemplateName, MailTemplate>> = {
  verification: { label: 'Verification', path: 'verificationTemplate', placeholders: ['TOKEN'] },
  'password-reset': { label: 'Password reset', path: 'resetPasswordTemplate', placeholders: ['TOKEN'] },
  'email-change': {
    label: 'Change of address',
    path: 'confirmEmailChangeTemplate',
    placeholders: ['TOKEN'],
  },
  otp: { label: 'One-time code', path: 'otp.emailTemplate', placeholders: ['OTP', 'OTP_ID'] },
  'login-alert': {
    label: 'Sign-in alert',
    path: 'authAlert.emailTemplate',
    placeholders: ['ALERT_INFO'],
  },
};

/** The mails to accounts, by what the API calls each. */
export const mailTemplates = membersOf(templates).map((name) => ({ name, ...templates[name] }));

/** What may stand in every mail. */
export const commonPlaceholders = ['APP_NAME', 'APP_URL', 'RECORD:name'] as const;
