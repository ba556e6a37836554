import { isCron } from '../base/cron.ts';
import { AppError } from '../base/errors.ts';
import { addressBytes, parseCidr } from '../base/ip-address.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { emailField } from '../fields/email-field.ts';
import { fieldError, type FieldErrorCode, invalidValue } from '../fields/field-error.ts';
import { urlField } from '../fields/url-field.ts';
import { bucketUrl, endpointUrl, isBucketName } from './bucket-url.ts';
import {
  type RateLimitRule,
  type S3Settings,
  settingChoices,
  type Settings,
  settingsLimits,
} from './settings.ts';

/** Adds the problems of the settings, under the name of each group. */
export function checkSettings(settings: Settings, problems: ProblemList): void {
  const { superuserIPs, smtp, backups, s3, meta, portal, rateLimits, trustedProxy, batch, logs, webhooks } =
    settings;
  const inside = (name: string, check: (problems: ProblemList) => void): void => {
    const members = new ProblemList();
    check(members);
    problems.addAll(name, members);
  };
  inside('superuserIPs', (list) => checkRanges(superuserIPs, list));
  inside('smtp', (members) => checkSmtp(smtp, members));
  inside('backups', (members) => checkBackups(backups, members));
  inside('s3', (members) => checkS3(s3, members));
  inside('meta', (members) => checkMeta(meta, members));
  inside('portal', (members) => checkPortal(portal, members));
  inside('rateLimits', (members) => checkRateLimits(rateLimits, members));
  inside('trustedProxy', (members) => checkTrustedProxy(trustedProxy, members));
  inside('batch', (members) => checkBatch(batch, members));
  inside('logs', (members) => {
    requireRange(members, 'maxDays', { value: logs.maxDays, min: 0, max: 3_650 });
    requireRange(members, 'maxDataSize', { value: logs.maxDataSize, min: 0, max: 1_000_000 });
  });
  inside('webhooks', (members) => {
    requireChoice(members, 'webhooks.events', webhooks.events);
    requireRange(members, 'accountEndpointsMax', { value: webhooks.accountEndpointsMax, min: 0, max: 1_000 });
  });
}

const HOST = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?)*\.?$/i;
const anyDomain = { exceptDomains: [], onlyDomains: [], required: true };

function checkSmtp(smtp: Settings['smtp'], problems: ProblemList): void {
  if (smtp.enabled) requireText(problems, { host: smtp.host });
  requireRange(problems, 'port', { value: smtp.port, min: smtp.enabled ? 1 : 0, max: 65_535 });
  if (smtp.host !== '' && !isHost(smtp.host)) problems.add('host', fieldError('validation_is_host'));
  requireChoice(problems, 'smtp.authMethod', smtp.authMethod);
  if (smtp.localName !== '' && !isHost(smtp.localName))
    problems.add('localName', fieldError('validation_is_host'));
}

function isHost(text: string): boolean {
  return HOST.test(text) || addressBytes(text) !== null;
}

function checkBackups({ cron, cronMaxKeep, s3 }: Settings['backups'], problems: ProblemList): void {
  if (cron !== '' && !isCron(cron)) problems.add('cron', fieldError('validation_invalid_cron'));
  requireRange(problems, 'cronMaxKeep', { value: cronMaxKeep, min: cron === '' ? 0 : 1, max: 1_000 });
  const members = new ProblemList();
  checkS3(s3, members);
  problems.addAll('s3', members);
}

const NAME_OF_REGION = /^[\w-]{1,64}$/;
/** It stands in a header between commas and slashes. */
const ACCESS_KEY = /^[!-+.0-~-]{1,256}$/;

function checkS3(settings: S3Settings, problems: ProblemList): void {
  const { enabled, bucket, region, endpoint, accessKey, secret } = settings;
  if (enabled) requireText(problems, { bucket, region, endpoint, accessKey, secret });
  if (bucket !== '' && !isBucketName(settings)) problems.add('bucket', notABucket);
  if (region !== '' && !NAME_OF_REGION.test(region))
    problems.add('region', fieldError('validation_match_invalid'));
  if (accessKey !== '' && !ACCESS_KEY.test(accessKey))
    problems.add('accessKey', fieldError('validation_match_invalid'));
  if (endpoint !== '' && endpointUrl(endpoint) === undefined)
    problems.add('endpoint', fieldError('validation_is_url'));
  else if (enabled && problems.isEmpty && bucketUrl(settings, '') === undefined)
    problems.add('endpoint', notAHostOfBuckets);
}

const notABucket = invalidValue(
  'Must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens; with forcePathStyle also upper-case letters and underscores.',
);
const notAHostOfBuckets = invalidValue(
  'An IP address needs forcePathStyle: no name of a bucket can precede it.',
);

const nameLengthMax = 255;

function checkMeta(meta: Settings['meta'], problems: ProblemList): void {
  const { appName, senderName, appURL, senderAddress, accentColor, frameAncestors } = meta;
  requireText(problems, { appName, appURL, senderName, senderAddress });
  for (const [name, text] of Object.entries({ appName, senderName }))
    if (text.length > nameLengthMax)
      problems.add(name, fieldError('validation_length_out_of_range', { min: 1, max: nameLengthMax }));
  if (urlField.check(appURL, anyDomain) !== undefined)
    problems.add('appURL', fieldError('validation_is_url'));
  if (emailField.check(senderAddress, anyDomain) !== undefined)
    problems.add('senderAddress', fieldError('validation_is_email'));
  checkColor(accentColor, problems);
  const max = settingsLimits.frameAncestorsMax;
  if (frameAncestors.length > max)
    problems.add('frameAncestors', fieldError('validation_length_too_long', { min: 0, max }));
  const ofSites = new ProblemList();
  for (const [index, site] of frameAncestors.entries())
    if (!isFrameAncestor(site)) ofSites.add(String(index), notAnOrigin);
  problems.addAll('frameAncestors', ofSites);
}

function checkColor(accentColor: string, problems: ProblemList): void {
  if (accentColor !== '' && accentColor.length !== 7)
    problems.add('accentColor', fieldError('validation_length_invalid', { min: 7, max: 7 }));
  else if (accentColor !== '' && !/^#[0-9a-f]{6}$/i.test(accentColor))
    problems.add('accentColor', fieldError('validation_is_hex_color'));
}

/** Images that browsers show without running anything of them. */
const IMAGE = /^data:image\/(?:png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

function checkPortal(
  { name, logo, accentColor, theme, returnUrl }: Settings['portal'],
  problems: ProblemList,
): void {
  if (name.length > nameLengthMax)
    problems.add('name', fieldError('validation_length_out_of_range', { min: 0, max: nameLengthMax }));
  if (logo !== '' && !IMAGE.test(logo))
    problems.add(
      'logo',
      invalidValue('Must be an image of up to 32 KiB as a URL such as data:image/png;base64,….'),
    );
  checkColor(accentColor, problems);
  requireChoice(problems, 'portal.theme', theme);
  if (returnUrl !== '' && !isReturnUrl(returnUrl))
    problems.add(
      'returnUrl',
      invalidValue('Must be a URL such as https://example.com/account; http:// only for localhost.'),
    );
}

/** Whether the URL is of a page: it stands in a link, where `javascript:` would run in the dashboard. */
function isReturnUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '' && ORIGIN.test(url.origin);
}

const ORIGIN = /^(?:https:\/\/[a-z0-9.-]+|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/;
const notAnOrigin = invalidValue(
  'Must be an origin such as https://example.com or https://example.com:8443; http:// only for localhost.',
);

/** Whether a text is the origin of a site as browsers write it. It stands in a header as it is: a `*`, a blank or a `;` would mean more than one site. */
function isFrameAncestor(text: string): boolean {
  return ORIGIN.test(text) && URL.parse(text)?.origin === text;
}

function checkRateLimits(
  { rules, excludedIPs, enabled }: Settings['rateLimits'],
  problems: ProblemList,
): void {
  const ofRules = new ProblemList();
  for (const [index, rule] of rules.entries()) {
    const members = new ProblemList();
    checkRule(rule, members);
    if (rules.slice(0, index).some((other) => isConflicting(rule, other)))
      members.add('label', fieldError('validation_conflicting_rate_limit_rule'));
    ofRules.addAll(String(index), members);
  }
  problems.addAll('rules', ofRules);
  if (enabled && rules.length === 0) problems.add('rules', fieldError('validation_required'));
  const ofExcluded = new ProblemList();
  checkRanges(excludedIPs, ofExcluded);
  problems.addAll('excludedIPs', ofExcluded);
}

const LABEL = /^(?:\w+ \/[\w/-]*|\/[\w/-]*|\w+:\w+|\*:\w+|\w+)$/;

function checkRule({ label, audience, duration, maxRequests }: RateLimitRule, problems: ProblemList): void {
  requireText(problems, { label });
  if (!LABEL.test(label)) problems.add('label', fieldError('validation_match_invalid'));
  requireChoice(problems, 'rateLimits.rules.audience', audience);
  requireRange(problems, 'duration', { value: duration, min: 1, max: settingsLimits.rateLimitSecondsMax });
  requireRange(problems, 'maxRequests', { value: maxRequests, min: 1, max: Number.MAX_SAFE_INTEGER });
}

function requireChoice(problems: ProblemList, path: keyof typeof settingChoices, value: string): void {
  const choices: readonly string[] = settingChoices[path];
  if (!choices.includes(value))
    problems.add(path.slice(path.lastIndexOf('.') + 1), fieldError('validation_in_invalid'));
}

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/i;

function checkTrustedProxy({ headers }: Settings['trustedProxy'], problems: ProblemList): void {
  const list = new ProblemList();
  for (const [index, header] of headers.entries())
    if (!TOKEN.test(header)) list.add(String(index), fieldError('validation_match_invalid'));
  problems.addAll('headers', list);
}

function checkBatch(batch: Settings['batch'], problems: ProblemList): void {
  const min = batch.enabled ? 1 : 0;
  requireRange(problems, 'maxRequests', {
    value: batch.maxRequests,
    min,
    max: settingsLimits.batchRequestsMax,
  });
  requireRange(problems, 'timeout', { value: batch.timeout, min, max: settingsLimits.batchSecondsMax });
  requireRange(problems, 'maxBodySize', { value: batch.maxBodySize, min: 0, max: Number.MAX_SAFE_INTEGER });
}

function checkRanges(texts: readonly string[], problems: ProblemList): void {
  for (const [index, text] of texts.entries())
    if (!isRange(text))
      problems.add(
        String(index),
        fieldError(text === '' ? 'validation_required' : 'validation_invlaid_ip_or_subnet'),
      );
}

function isRange(text: string): boolean {
  try {
    parseCidr(text);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function requireText(problems: ProblemList, texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts))
    if (text === '') problems.add(name, fieldError('validation_required'));
}

function requireRange(
  problems: ProblemList,
  name: string,
  { value, min, max }: { readonly value: number; readonly min: number; readonly max: number },
): void {
  const refuse = (code: FieldErrorCode, threshold?: number): void =>
    problems.add(name, threshold === undefined ? fieldError(code) : fieldError(code, { threshold }));
  if (value === 0 && min > 0) refuse('validation_required');
  else if (value < min) refuse('validation_min_greater_equal_than_required', min);
  else if (value > max) refuse('validation_max_less_equal_than_required', max);
}

/** True when two rules have the same label and overlapping audiences: a rule for everybody overlaps every other. */
export function isConflicting(one: RateLimitRule, other: RateLimitRule): boolean {
  return (
    one.label === other.label &&
    (one.audience === other.audience || one.audience === '' || other.audience === '')
  );
}
