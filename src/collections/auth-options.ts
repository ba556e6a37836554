/** What an auth collection defines beyond other collections (http-api section 12), in the order in which it is shown. Times are seconds. */
export interface AuthOptions extends Record<TokenKind, TokenOptions> {
  /** Who may sign in: null nobody, '' everyone, otherwise a filter on the account. */
  readonly authRule: string | null;
  /** Who may change what otherwise only the owner of an account may; null nobody but superusers. */
  readonly manageRule: string | null;
  readonly authAlert: { readonly enabled: boolean; readonly emailTemplate: EmailTemplate };
  readonly oauth2: {
    readonly providers: readonly never[];
    readonly mappedFields: Readonly<Record<MappedField, string>>;
    readonly enabled: false;
  };
  readonly passwordAuth: { readonly enabled: boolean; readonly identityFields: readonly string[] };
  readonly mfa: { readonly enabled: boolean; readonly duration: number; readonly rule: string };
  readonly otp: {
    readonly enabled: boolean;
    readonly duration: number;
    readonly length: number;
    readonly emailTemplate: EmailTemplate;
  };
  readonly verificationTemplate: EmailTemplate;
  readonly resetPasswordTemplate: EmailTemplate;
  readonly confirmEmailChangeTemplate: EmailTemplate;
}

export interface EmailTemplate {
  readonly subject: string;
  readonly body: string;
}

export interface TokenOptions {
  readonly duration: number;
}

/** What a token may be for. Each has a secret of its own in every collection, which is never shown. */
export const tokenKinds = [
  'authToken',
  'passwordResetToken',
  'emailChangeToken',
  'verificationToken',
  'fileToken',
] as const;

export type TokenKind = (typeof tokenKinds)[number];

export const mappedFields = ['id', 'name', 'username', 'avatarURL'] as const;

type MappedField = (typeof mappedFields)[number];

/** The options of a definition that mentions none of them. */
export const defaultAuthOptions: AuthOptions = {
  authRule: '',
  manageRule: null,
  authAlert: {
    enabled: true,
    emailTemplate: template(
      'A sign-in from a new place',
      '<p>Somebody has signed in to your account at {APP_NAME} from a place that was not seen before:</p>\n<p>{ALERT_INFO}</p>\n<p>If it was not you, change your password at once: that ends all sessions.</p>',
    ),
  },
  oauth2: { providers: [], mappedFields: { id: '', name: '', username: '', avatarURL: '' }, enabled: false },
  passwordAuth: { enabled: true, identityFields: ['email'] },
  mfa: { enabled: false, duration: 600, rule: '' },
  otp: {
    enabled: false,
    duration: 180,
    length: 8,
    emailTemplate: template(
      'Your code for {APP_NAME}',
      '<p>Your one-time code is <strong>{OTP}</strong></p>\n<p>If you did not ask for it, nothing needs to be done.</p>',
    ),
  },
  authToken: { duration: 432_000 },
  passwordResetToken: { duration: 1_800 },
  emailChangeToken: { duration: 1_800 },
  verificationToken: { duration: 86_400 },
  fileToken: { duration: 180 },
  verificationTemplate: linkTemplate(
    'Verify your e-mail address for {APP_NAME}',
    'Verify it',
    'confirm-verification',
  ),
  resetPasswordTemplate: linkTemplate(
    'Reset your password for {APP_NAME}',
    'Choose a new one',
    'confirm-password-reset',
  ),
  confirmEmailChangeTemplate: linkTemplate(
    'Confirm your new e-mail address for {APP_NAME}',
    'Confirm it',
    'confirm-email-change',
  ),
};

function linkTemplate(subject: string, link: string, page: string): EmailTemplate {
  return template(
    subject,
    `<p>${subject}:</p>\n<p><a href="{APP_URL}/_/#/auth/${page}/{TOKEN}" target="_blank" rel="noopener">${link}</a></p>\n<p>If you did not ask for it, nothing needs to be done.</p>`,
  );
}

function template(subject: string, body: string): EmailTemplate {
  return { subject, body };
}
