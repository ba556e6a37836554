import type { Mutant } from './mutant.ts';

const tests = ['test/api/portal-links.test.ts'];
const file = 'src/auth/portal-links.ts';

/** Guards of portal links and of their sessions. */
export const portalLinkMutants: readonly Mutant[] = [
  {
    name: 'a portal link is opened once',
    file,
    from: 'SET digest = ${digest(token)}, opened',
    to: 'SET opened',
    tests,
  },
  {
    name: 'a portal link is opened in time',
    file,
    from: ' AND expires > ${toTimestamp(now)}`);\n    if (isOpened',
    to: '`);\n    if (isOpened',
    tests,
  },
  {
    name: 'a portal link is opened by who has it',
    file,
    from: 'AND digest = ${digest(link)} AND expires',
    to: 'AND expires',
    tests,
  },
  {
    name: 'the session of a portal is what was given to who has opened the link',
    file,
    from: '|| !isDigestOf(row.digest, text)',
    to: '',
    tests,
  },
  {
    name: 'the session of a portal ends',
    file,
    from: 'if (fromTimestamp(link.expires) <= clock.now()) throw ended();',
    to: '',
    tests,
  },
  {
    name: 'the session of a portal ends in spite of its use',
    file,
    from: 'Math.min(clock.now() + portalLimits.idleMs, fromTimestamp(ends))',
    to: 'clock.now() + portalLimits.idleMs',
    tests,
  },
  {
    name: 'the session of a portal ends with its last endpoint',
    file,
    from: 'if (endpoints.length === 0) throw ended();',
    to: '',
    tests,
  },
  {
    name: 'the session of a portal ends with its account',
    file,
    from: 'if (!(await withCurrentDefinitions(() => isAccount(database, instance, owner)))) throw ended();',
    to: '',
    tests,
  },
  {
    name: 'a portal link is for an account that exists',
    file,
    from: "if (link.owner !== '' && !(await isAccount(tx, instance, link.owner)))",
    to: 'if (false)',
    tests,
  },
  {
    name: 'a portal has scopes of webhooks alone',
    file,
    from: 'decodeKeyScopes(value ?? scopesOfPortals, scopesOfPortals)',
    to: "decodeKeyScopes(value ?? scopesOfPortals, [...scopesOfPortals, 'admin'])",
    tests,
  },
  {
    name: 'a portal link lasts for seven days at most',
    file,
    from: 'return fromTimestamp(decoded.value) <= now + portalLimits.linkMsMax',
    to: 'return true',
    tests,
  },
  {
    name: 'the portal of an account is the account in routes for endpoints alone',
    file: 'src/http/endpoint-keys.ts',
    from: "|| scope === 'any' || !hasScope(caller, scope)) return undefined;",
    to: "|| scope === 'any') return undefined;",
    tests,
  },
  {
    name: 'rate limits apply to portals',
    file: 'src/http/admission.ts',
    from: "return caller.kind === 'superuser' && portalOf(caller) === undefined;",
    to: "return caller.kind === 'superuser';",
    tests,
  },
  {
    name: 'what a portal does is audited as its own',
    file: 'src/logs/audit-entry.ts',
    from: "if (portal !== undefined) return { kind: 'portal', id: portal, ...origin };",
    to: '',
    tests,
  },
  {
    name: 'archives have no sessions of portals',
    file: 'src/transfer/placed-tables.ts',
    from: "  $setup_token: 'instance',",
    to: "  $setup_token: 'instance',\n  ...{ $portal_link: 'instance' as const },",
    tests: ['test/api/portal-links.test.ts'],
  },
  {
    name: 'the link back of portals leads to a page',
    file: 'src/settings/check-settings.ts',
    from: "if (returnUrl !== '' && !isReturnUrl(returnUrl))",
    to: 'if (false)',
    tests: ['test/api/settings.test.ts'],
  },
  {
    name: 'the logo of portals is an image',
    file: 'src/settings/check-settings.ts',
    from: "if (logo !== '' && !IMAGE.test(logo))",
    to: 'if (false)',
    tests: ['test/api/settings.test.ts'],
  },
];
