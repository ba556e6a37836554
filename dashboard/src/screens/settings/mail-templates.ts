/** The mails to accounts: what the API calls each, and where a definition has its template. */
export const mailTemplates = [
  { name: 'verification', label: 'Verification', path: 'verificationTemplate', placeholders: ['TOKEN'] },
  { name: 'password-reset', label: 'Password reset', path: 'resetPasswordTemplate', placeholders: ['TOKEN'] },
  {
    name: 'email-change',
    label: 'Change of address',
    path: 'confirmEmailChangeTemplate',
    placeholders: ['TOKEN'],
  },
  { name: 'otp', label: 'One-time code', path: 'otp.emailTemplate', placeholders: ['OTP', 'OTP_ID'] },
  {
    name: 'login-alert',
    label: 'Sign-in alert',
    path: 'authAlert.emailTemplate',
    placeholders: ['ALERT_INFO'],
  },
] as const;

export type TemplateName = (typeof mailTemplates)[number]['name'];

/** What may stand in every mail. */
export const commonPlaceholders = ['APP_NAME', 'APP_URL', 'RECORD:name'] as const;
