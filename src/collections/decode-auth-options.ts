import type { FieldError } from '../base/errors.ts';
import { fieldError } from '../fields/field-error.ts';
import { fieldColumn } from '../fields/field.ts';
import {
  type AuthOptions,
  type Collection,
  type CollectionSecret,
  defaultAuthOptions,
  type EmailTemplate,
  type TokenKind,
  tokenKinds,
} from './collection.ts';
import { decodeOauth2, requestedProviderSecrets } from './decode-oauth2.ts';
import { isIdentityIndex } from './index-definition.ts';
import { memberReader, type MemberReader, type ProblemList } from './member-reader.ts';

/** How long tokens may be valid, in seconds. The maximum is that of the reference: three years. */
const tokenSeconds = { min: 10, max: 94_670_856 };
/** How long a second factor or a one-time code may take, in seconds: both are used within one visit. */
const sessionSeconds = { min: 10, max: 86_400 };
const otpLength = { min: 4, max: 32 };
const templateLengthMax = { subject: 255, body: 100_000 };

export interface AuthContext {
  readonly existing?: Collection;
  /** The collection with its new fields and indexes. */
  readonly draft: Omit<Collection, 'auth'>;
}

/** Decodes the auth options of a definition. Members that it leaves out stay as they are, nested ones too. */
export function decodeAuthOptions(
  raw: Readonly<Record<string, unknown>>,
  context: AuthContext,
  problems: ProblemList,
): AuthOptions {
  const was = context.existing?.auth ?? defaultAuthOptions;
  const read = memberReader(raw, problems);
  const passwordAuth = decodePasswordAuth(read, was, context.draft);
  const options: AuthOptions = {
    authRule: read.rule('authRule', was.authRule),
    manageRule: read.rule('manageRule', was.manageRule),
    authAlert: read.members('authAlert', (alert) => ({
      enabled: alert.flag('enabled', was.authAlert.enabled),
      emailTemplate: decodeTemplate(alert, 'emailTemplate', was.authAlert.emailTemplate),
    })),
    oauth2: decodeOauth2(read, was.oauth2, context.draft.fields),
    passwordAuth,
    mfa: read.members('mfa', (mfa) => ({
      enabled: mfa.flag('enabled', was.mfa.enabled),
      duration: mfa.count('duration', was.mfa.duration, sessionSeconds),
      rule: mfa.rule('rule', was.mfa.rule) ?? '',
    })),
    otp: read.members('otp', (otp) => ({
      enabled: otp.flag('enabled', was.otp.enabled),
      duration: otp.count('duration', was.otp.duration, sessionSeconds),
      length: otp.count('length', was.otp.length, otpLength),
      emailTemplate: decodeTemplate(otp, 'emailTemplate', was.otp.emailTemplate),
    })),
    webhooks: read.members('webhooks', (webhooks) => ({
      enabled: webhooks.flag('enabled', was.webhooks.enabled),
    })),
    ...decodeTokens(read, was),
    verificationTemplate: decodeTemplate(read, 'verificationTemplate', was.verificationTemplate),
    resetPasswordTemplate: decodeTemplate(read, 'resetPasswordTemplate', was.resetPasswordTemplate),
    confirmEmailChangeTemplate: decodeTemplate(
      read,
      'confirmEmailChangeTemplate',
      was.confirmEmailChangeTemplate,
    ),
  };
  const methods = [options.passwordAuth, options.otp, options.oauth2].filter(({ enabled }) => enabled);
  if (options.mfa.enabled && methods.length < 2) problems.add('mfa', { enabled: tooFewMethods });
  if (options.manageRule === '')
    problems.add('manageRule', { code: 'validation_nil_or_not_empty_required', message: 'Cannot be blank.' });
  if (context.existing?.system === true) refuseSystemChange(options, was, problems);
  return options;
}

/**
 * Returns the secrets that a definition replaces: by this text, or by a generated one where that of a kind of token is empty, and those of
 * clients at sign-in providers.
 */
export function requestedSecrets(
  raw: Readonly<Record<string, unknown>>,
  problems: ProblemList,
): ReadonlyMap<CollectionSecret, string> {
  const secrets = new Map<CollectionSecret, string>(requestedProviderSecrets(raw));
  const read = memberReader(raw, problems);
  for (const kind of tokenKinds)
    read.members(kind, (token) => {
      const secret = token.text('secret', undefined);
      if (secret === undefined) return;
      if (secret !== '' && (secret.length < 30 || secret.length > 255))
        token.refuse('secret', fieldError('validation_length_out_of_range', { min: 30, max: 255 }));
      secrets.set(kind, secret);
    });
  return secrets;
}

function decodePasswordAuth(
  read: MemberReader,
  was: AuthOptions,
  draft: AuthContext['draft'],
): AuthOptions['passwordAuth'] {
  return read.members('passwordAuth', (passwordAuth) => {
    const enabled = passwordAuth.flag('enabled', was.passwordAuth.enabled);
    const identityFields = passwordAuth.texts('identityFields', was.passwordAuth.identityFields);
    const problem =
      enabled && identityFields.length === 0
        ? fieldError('validation_required')
        : identityFields.map((name) => identityProblem(name, draft)).find((each) => each !== undefined);
    if (problem !== undefined) passwordAuth.refuse('identityFields', problem);
    return { enabled, identityFields: [...new Set(identityFields)] };
  });
}

/** An identity is a text that no two accounts have. */
function identityProblem(name: string, draft: AuthContext['draft']): FieldError | undefined {
  const field = draft.fields.find((candidate) => candidate.name === name);
  if (field === undefined || fieldColumn(field) !== 'text') {
    return {
      code: 'validation_missing_field',
      message: `Invalid or missing field ${JSON.stringify(name)}.`,
      params: { fieldName: name },
    };
  }
  if (draft.indexes.some((index) => isIdentityIndex(index, name))) return undefined;
  return {
    code: 'validation_missing_unique_constraint',
    message: `The field ${JSON.stringify(name)} doesn't have a UNIQUE constraint.`,
    params: { fieldName: name },
  };
}

const tooFewMethods: FieldError = {
  code: 'validation_mfa_not_enough_auths',
  message: 'At least two ways to sign in must be enabled.',
};

function decodeTokens(read: MemberReader, was: AuthOptions): Pick<AuthOptions, TokenKind> {
  const tokens = tokenKinds.map(
    (kind) =>
      [
        kind,
        read.members(kind, (token) => ({
          duration: token.count('duration', was[kind].duration, tokenSeconds),
        })),
      ] as const,
  );
  // One entry for each kind.
  return Object.fromEntries(tokens) as Pick<AuthOptions, TokenKind>;
}

function decodeTemplate(read: MemberReader, name: string, was: EmailTemplate): EmailTemplate {
  return read.members(name, (template) => {
    const text = (member: keyof EmailTemplate): string => {
      const value = template.text(member, was[member]);
      if (value === '') template.refuse(member, fieldError('validation_required'));
      if (value.length > templateLengthMax[member])
        template.refuse(
          member,
          fieldError('validation_length_too_long', { min: 0, max: templateLengthMax[member] }),
        );
      return value;
    };
    return { subject: text('subject'), body: text('body') };
  });
}

function refuseSystemChange(options: AuthOptions, was: AuthOptions, problems: ProblemList): void {
  for (const name of ['authRule', 'manageRule'] as const)
    if (options[name] !== was[name])
      problems.add(name, {
        code: 'validation_collection_system_rule_change',
        message: 'System collection API rule cannot be changed.',
      });
}
