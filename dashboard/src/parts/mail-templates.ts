import type { Collection } from '../api/client.ts';
import { membersOf } from '../api/members-of.ts';
import type { Schemas } from '../api/schema.ts';
import type { CompletionList } from './editor/code-editor.ts';
import type { Field } from './form/field.ts';

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

/** Returns the fields of a template, whose placeholders are completed. */
export function templateFields(
  { path, placeholders }: Pick<MailTemplate, 'path' | 'placeholders'>,
  { fields }: Collection,
): readonly Field[] {
  const filled = [...placeholders, 'APP_NAME', 'APP_URL'].map((name) => `{${name}}`);
  const values = fields.filter(({ hidden }) => !hidden).map(({ name }) => `{RECORD:${name}}`);
  return [
    { kind: 'text', path: `${path}.subject`, label: 'Subject' },
    {
      kind: 'code',
      language: 'html',
      rows: 4,
      path: `${path}.body`,
      label: 'Body',
      aside: 'HTML',
      help: `${filled.join(', ')} and {RECORD:name} are filled in. A plain-text version is generated.`,
      complete: (text, caret) => completePlaceholder([...filled, ...values], text, caret),
    },
  ];
}

/** Behind a brace: what is filled in. */
function completePlaceholder(names: readonly string[], text: string, caret: number): CompletionList {
  const [word = ''] = /\{[\w:]*$/.exec(text.slice(0, caret)) ?? [];
  const matches = names.filter((name) => word !== '' && name.startsWith(word));
  return { from: caret - word.length, items: matches.map((name) => ({ text: name, hint: 'filled in' })) };
}
