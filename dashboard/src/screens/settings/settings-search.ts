/** What the address of the settings holds besides the section. */
export interface SettingsSearch {
  /** The collection whose accounts or mails are set. */
  readonly collection?: string;
  /** The mail whose template is shown. */
  readonly template?: string;
  /** What a list is narrowed to, and what it is sorted by. */
  readonly find?: string;
  readonly sort?: string;
  /** Of the audit log. */
  readonly filter?: string;
  /** The id of the open entry of the audit log. */
  readonly entry?: string;
  /** A new API key is being made. */
  readonly create?: 'yes';
  /** The backup that the instance has just been restored from. */
  readonly restored?: string;
}

export function decodeSettingsSearch(search: Readonly<Record<string, unknown>>): SettingsSearch {
  const { collection, template, find, sort, filter, entry, create, restored } = search;
  return {
    ...(isText(collection) && { collection }),
    ...(isText(template) && { template }),
    ...(isText(find) && { find }),
    ...(isText(sort) && { sort }),
    ...(isText(filter) && { filter }),
    ...(isText(entry) && { entry }),
    ...(create === 'yes' && { create }),
    ...(isText(restored) && { restored }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
