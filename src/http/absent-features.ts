/** Paths of the reference that have no routes here, and what is said there instead of "not found". */
const absentFeatures: readonly (readonly [paths: RegExp, sentence: string])[] = [
  [/^\/api\/realtime$/, 'Realtime is not available yet.'],
  [/^\/api\/files\/./, 'Files are not available yet.'],
  [/^\/api\/collections\/meta\/dry-run-view$/, 'View collections are not available yet.'],
  [/^\/api\/collections\/[^/]+\/auth-with-oauth2$/, 'Sign-in with OAuth2 is not available yet.'],
  [/^\/api\/oauth2-redirect$/, 'Sign-in with OAuth2 is not available yet.'],
  [/^\/api\/settings\/apple\/generate-client-secret$/, 'Sign-in with OAuth2 is not available yet.'],
  [/^\/api\/crons(?:\/.|$)/, 'Scheduled jobs are not available yet.'],
  [/^\/api\/backups(?:\/.|$)/, 'Backups are not available yet.'],
  [/^\/api\/sql$/, 'The SQL console is not offered: superusers of an instance have no access to its engine.'],
  [/^\/_\/extensions(?:\.js$|\/)/, 'Extensions of the dashboard are not offered.'],
  [/^\/_(?:\/|$)/, 'The dashboard is not available yet.'],
];

/** Returns what to say on the path of a feature that the reference has and this service has not; undefined for any other path. */
export function findAbsentFeature(path: string): string | undefined {
  return absentFeatures.find(([paths]) => paths.test(path))?.[1];
}
