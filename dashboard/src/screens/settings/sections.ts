/** The sections of the settings, in their order. The palette offers them as well. */
export const settingsSections = [
  { section: 'general', label: 'General', group: 'Instance' },
  { section: 'access', label: 'Access', group: 'Instance' },
  { section: 'keys', label: 'API keys', group: 'Instance' },
  { section: 'files', label: 'Files', group: 'Instance' },
  { section: 'portals', label: 'Portals', group: 'Instance' },
  { section: 'accounts', label: 'Sign-in and tokens', group: 'Accounts' },
  { section: 'mail', label: 'Mail server', group: 'Accounts' },
  { section: 'templates', label: 'Mail templates', group: 'Accounts' },
  { section: 'rate-limits', label: 'Rate limits', group: 'Requests' },
  { section: 'requests', label: 'Batches and events', group: 'Requests' },
  { section: 'logs', label: 'Request log', group: 'Requests' },
  { section: 'backups', label: 'Backups', group: 'Data' },
  { section: 'jobs', label: 'Scheduled jobs', group: 'Data' },
  { section: 'definitions', label: 'Import and export', group: 'Data' },
  { section: 'audit', label: 'Audit log', group: 'Data' },
  { section: 'danger', label: 'Danger zone', group: 'Data' },
] as const;

export type SectionName = (typeof settingsSections)[number]['section'];
