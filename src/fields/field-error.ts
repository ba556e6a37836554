import type { FieldError, FieldErrors } from '../base/errors.ts';

/** The messages of http-api.md section 20, as clients get them. `{name}` stands for a parameter. */
const MESSAGES = {
  validation_required: 'Cannot be blank.',
  validation_unsupported_value_type: 'Invalid or unsupported value type.',
  validation_invalid_value: 'Invalid value {value}.',
  validation_forbidden_pk_character: "'{ch}' is not a valid primary key character.",
  validation_reserved_pk: "The primary key '{reserved}' is reserved and cannot be used.",
  validation_min_text_constraint: 'Must be at least {min} character(s).',
  validation_max_text_constraint: 'Must be no more than {max} character(s).',
  validation_invalid_format: 'Invalid value format.',
  validation_not_a_number: 'The submitted number is not properly formatted.',
  validation_only_int_constraint: 'Decimal numbers are not allowed.',
  validation_min_number_constraint: 'Must be greater or equal than {min}.',
  validation_max_number_constraint: 'Must be less or equal than {max}.',
  validation_is_email: 'Must be a valid email address.',
  validation_email_domain_not_allowed: 'Email domain is not allowed.',
  validation_invalid_url: 'Must be a valid url.',
  validation_url_domain_not_allowed: 'Url domain is not allowed.',
  validation_min_greater_equal_than_required: 'Must be no less than {threshold}.',
  validation_max_less_equal_than_required: 'Must be no greater than {threshold}.',
  validation_too_many_values: 'Select no more than {maxSelect}.',
  validation_content_size_limit: 'The maximum allowed content size is {maxSize} bytes.',
  validation_invalid_latitude: 'Latitude must be between -90 and 90 degrees.',
  validation_invalid_longitude: 'Longitude must be between -180 and 180 degrees.',
  validation_invalid_file: 'Invalid new files: {invalidFiles}.',
  validation_too_many_files: 'The maximum allowed files is {maxSelect}.',
  validation_file_size_limit: 'Failed to upload {file}: the maximum allowed file size is {maxSize} bytes.',
  validation_invalid_mime_type: 'The type of {file} must be one of: {mimeTypes}.',
  validation_not_enough_values: 'Select at least {minSelect}.',
  validation_missing_rel_records: 'Failed to find all relation records with the provided ids.',
  validation_field_relation_change: 'The relation collection cannot be changed.',
  validation_field_relation_missing_collection: "The relation collection doesn't exist.",
  validation_json_size_limit: 'The maximum allowed JSON size is {maxSize} bytes.',
  validation_invalid_json: 'Must be a valid json value.',
  validation_length_out_of_range: 'The length must be between {min} and {max}.',
  validation_length_invalid: 'The length must be exactly {max}.',
  validation_length_too_long: 'The length must be no more than {max}.',
  validation_match_invalid: 'Must be in a valid format.',
  validation_in_invalid: 'Must be a valid value.',
  validation_not_in_invalid: 'Must not be in list.',
  validation_found_via: 'The value cannot contain `_via_`.',
  validation_empty: 'Must be blank.',
  validation_is_domain: 'Must be a valid domain.',
  validation_is_host: 'Must be a valid IP address or DNS name.',
  validation_is_url: 'Must be a valid URL.',
  validation_is_hex_color: 'Must be a valid hexadecimal color code.',
  // The reference misspells this code, and clients compare it.
  validation_invlaid_ip_or_subnet: 'Must be a valid IP address or subnet.',
  validation_invalid_cron: 'Must be a valid cron expression.',
  validation_missing_provider: 'Invalid or missing provider with name {name}.',
  validation_duplicated_provider: 'The provider {name} is already registered.',
  validation_invalid_provider: 'Provider with name {name} is missing or is not enabled.',
  validation_conflicting_rate_limit_rule:
    'Another rule has this label and an audience that includes this one.',
  validation_backup_name_exists: 'There is a backup with this name.',
  validation_invalid_regex: 'Invalid regular expression: {problem}.',
  validation_invalid_autogenerate_pattern: 'Invalid autogenerate pattern: {problem}.',
  validation_invalid_autogenerate_pattern_value:
    'The provided autogenerate pattern could produce invalid field values, ex.: "{value}".',
} as const;

export type FieldErrorCode = keyof typeof MESSAGES;

export type FieldErrorParams = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * Returns the error for a refused value, with its message from the catalogue and the placeholders filled in. It has `params` only
 * when they are passed.
 */
export function fieldError(code: FieldErrorCode, params?: FieldErrorParams): FieldError {
  if (params === undefined) return { code, message: MESSAGES[code] };
  // A function, not a text, as the replacement: `$&` inside a client's value must stay as it is.
  const message = MESSAGES[code].replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    [params[name] ?? whole].flat().join(', '),
  );
  return { code, message, params };
}

/** Returns the error for a refused value with a message of its own, which names the expected form. */
export function invalidValue(message: string): FieldError {
  return { code: 'validation_invalid_value', message };
}

/** Problems reported of one object: a body may have millions of members. */
const unknownMembersMax = 20;

/**
 * Returns a problem for each member of an object that is neither one of `names` nor ignored on purpose (`answerMembers`: members of answers,
 * which may be sent back). It suggests the nearest name: if such members were ignored, a request with a
 * misspelt name would succeed without effect.
 */
export function unknownMembers(
  raw: Readonly<Record<string, unknown>>,
  names: readonly string[],
  answerMembers: readonly string[] = [],
): FieldErrors {
  const unknown = Object.keys(raw).filter((name) => !names.includes(name) && !answerMembers.includes(name));
  const problems = unknown.slice(0, unknownMembersMax).map((name) => {
    const suggestion = nearestName(name, names);
    const expected =
      suggestion === undefined ? `Expected ${names.join(', ')}.` : `Did you mean ${suggestion}?`;
    return [name, { code: 'validation_unknown_field', message: `There is no such member. ${expected}` }];
  });
  // Not by assignment: a member may be called __proto__. The cast holds: each value is a FieldError.
  return Object.fromEntries(problems) as FieldErrors;
}

/** Changes of one letter that a slip may take: `event` is one away from `events`, `schdeule` one from `schedule`. */
const changesMax = 2;
/** Longer names are no slips, and comparing them takes the square of their length. */
const nameLengthMax = 50;

/** Returns the known name that was probably meant by another one, or undefined. Case, `_` and `-` make no difference. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > nameLengthMax) return undefined;
  const letters = lettersOf(name);
  // Of a short name so many changes would leave nothing.
  let least = Math.min(changesMax, Math.floor(letters.length / 3)) + 1;
  let nearest: string | undefined;
  for (const candidate of names) {
    const changes = changesBetween(letters, lettersOf(candidate));
    if (changes >= least) continue;
    least = changes;
    nearest = candidate;
  }
  return nearest;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** Counts the letters to add, remove, replace or swap with their neighbour (the optimal string alignment distance). */
function changesBetween(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isSwap = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      const replaced = (last[at - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwap ? (before[at - 2] ?? Infinity) + 1 : Infinity;
      next[at] = Math.min(replaced, swapped, (last[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1);
    }
    [before, last] = [last, next];
  }
  return last[other.length] ?? 0;
}
