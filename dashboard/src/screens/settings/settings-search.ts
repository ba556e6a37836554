import { searchDecoder } from '../../parts/search-decoder.ts';

/** What the address of the settings holds besides the section. */
export const decodeSettingsSearch = searchDecoder({
  /** The collection whose accounts or mails are set. */
  collection: 'text',
  /** The mail whose template is shown. */
  template: 'text',
  /** What a list is narrowed to, and what it is sorted by. */
  find: 'text',
  sort: 'text',
  /** Of the audit log, and the id of its open entry. */
  filter: 'text',
  entry: 'text',
  /** A new API key is being made. */
  create: ['yes'],
  /** The backup that the instance has just been restored from. */
  restored: 'text',
});

export type SettingsSearch = ReturnType<typeof decodeSettingsSearch>;
