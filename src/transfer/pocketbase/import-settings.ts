import type { JsonObject } from '../../base/json.ts';
import { ProblemList } from '../../collections/member-reader.ts';
import { checkSettings } from '../../settings/check-settings.ts';
import { mergeSettings } from '../../settings/settings-store.ts';
import type { Settings } from '../../settings/settings.ts';
import { type Omissions, problemPlaces } from './omissions.ts';

/** Returns the settings with those of the source merged over them. A rejected part keeps its current value and is reported. */
export function importSettings(
  current: Settings,
  sourceSettings: JsonObject | undefined,
  omissions: Omissions,
): Settings {
  let changes = sourceSettings ?? {};
  for (;;) {
    const problems = new ProblemList();
    const settings = mergeSettings(current, changes, problems);
    if (problems.isEmpty) checkSettings(settings, problems);
    const rejected = problemPlaces(problems.toErrors()).filter(({ path: [name = ''] }) =>
      Object.hasOwn(changes, name),
    );
    for (const { path, error } of rejected)
      omissions.add({ of: 'the settings', what: path[0] ?? '', why: `${path.join('.')}: ${error.message}` });
    if (rejected.length === 0) {
      if (isKeptInS3(settings))
        omissions.add({
          kind: 'to look at',
          of: 'the files',
          what: 'all',
          why: 'They stay in S3, where this instance reads them from now on: see that no other writes there.',
        });
      if (Object.hasOwn(changes, 'superuserIPs')) reportSuperuserIPs(settings, omissions);
      return settings;
    }
    const names = new Set(rejected.map(({ path }) => path[0]));
    changes = Object.fromEntries(Object.entries(changes).filter(([name]) => !names.has(name)));
  }
}

const rangesShown = 5;

/** Warns of imported `superuserIPs`: clients may reach this service from other addresses than the source, and would be shut out. */
function reportSuperuserIPs({ superuserIPs }: Settings, omissions: Omissions): void {
  if (superuserIPs.length === 0) return;
  const ranges = superuserIPs.slice(0, rangesShown).join(', ');
  const from = superuserIPs.length > rangesShown ? `${ranges}, …` : ranges;
  const why = `From now on superusers are let in from ${from} only: see that these are addresses that you come from.`;
  omissions.add({ kind: 'to look at', of: 'the settings', what: 'superuserIPs', why });
}

function isKeptInS3({ s3 }: Settings): boolean {
  return s3.enabled;
}
