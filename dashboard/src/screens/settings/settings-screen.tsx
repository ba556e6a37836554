import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import Compass from 'lucide-react/icons/compass';
import { useEffect, useRef, type ComponentType } from 'react';
import { type Settings, settingsQuery } from '../../api/settings.ts';
import { Bar } from '../../parts/bar.tsx';
import { NotFound } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { AccountSection, TemplateSection } from './account-sections.tsx';
import { AuditSection } from './audit-section.tsx';
import { BackupSection } from './backup-section.tsx';
import { CronSection } from './cron-section.tsx';
import { DangerSection } from './danger-section.tsx';
import { DefinitionSection } from './definition-section.tsx';
import { KeySection } from './key-section.tsx';
import { MailSection } from './mail-section.tsx';
import { type SectionName, settingsSections } from './sections.ts';
import { PortalSection } from './portal-section.tsx';
import {
  AccessSection,
  FileSection,
  GeneralSection,
  LogSection,
  RateLimitSection,
  RequestSection,
} from './simple-sections.tsx';

const route = getRouteApi('/shell/settings/$section');

const views: Readonly<Record<SectionName, ComponentType<{ readonly settings: Settings }>>> = {
  general: GeneralSection,
  access: AccessSection,
  keys: KeySection,
  files: FileSection,
  accounts: AccountSection,
  portals: PortalSection,
  mail: MailSection,
  templates: TemplateSection,
  'rate-limits': RateLimitSection,
  requests: RequestSection,
  logs: LogSection,
  backups: BackupSection,
  jobs: CronSection,
  definitions: DefinitionSection,
  audit: AuditSection,
  danger: DangerSection,
};

/** What superusers decide about their instance, a section each. */
export function SettingsScreen() {
  const { section: name } = route.useParams();
  const section = settingsSections.find((one) => one.section === name);
  return (
    <>
      <Bar title={section === undefined ? 'Settings' : section.label} />
      <div className="settings">
        <SectionLinks />
        <div className="settings-scroll-area" tabIndex={-1}>
          <div className="settings-page">
            {section === undefined ? (
              <NoSection name={name} />
            ) : (
              <Section key={name} name={section.section} />
            )}
          </div>
        </div>
      </div>
    </>
  );
}

function Section({ name }: { readonly name: SectionName }) {
  const { data: settings, error, refetch } = useQuery(settingsQuery);
  if (error !== null && settings === undefined)
    return <FailureNotice error={error} onRetry={() => void refetch()} />;
  if (settings === undefined) return <PlaceholderSection />;
  const View = views[name];
  return <View settings={settings} />;
}

function SectionLinks() {
  const groups = [...new Set(settingsSections.map(({ group }) => group))];
  const nav = useRef<HTMLElement>(null);
  const { section: current } = route.useParams();
  useEffect(() => {
    // On a narrow screen the links are one line, which may have to be scrolled.
    const link = nav.current?.querySelector('[aria-current="page"]');
    link?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav className="settings-nav" aria-label="Settings" ref={nav}>
      {groups.map((group) => (
        <div key={group} className="settings-nav-group">
          <h2 className="nav-title">{group}</h2>
          <ul>
            {settingsSections
              .filter((one) => one.group === group)
              .map(({ section, label }) => (
                <li key={section}>
                  <Link
                    to="/settings/$section"
                    params={{ section }}
                    className="nav-link"
                    activeOptions={{ includeSearch: false }}
                  >
                    {label}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function NoSection({ name }: { readonly name: string }) {
  return (
    <NotFound
      icon={Compass}
      title={`There is no section ${name}`}
      link={{ to: '/settings/$section', params: { section: 'general' } }}
      action="Go to general settings"
    >
      Check the address. It may need a newer version.
    </NotFound>
  );
}

function PlaceholderSection() {
  return (
    <div className="settings-group" aria-hidden>
      {[90, 60, 120, 80].map((inlineSize) => (
        <div key={inlineSize} className="field">
          <span className="field-head">
            <span className="placeholder" style={{ inlineSize }} />
          </span>
          <span className="placeholder" style={{ blockSize: 30 }} />
        </div>
      ))}
    </div>
  );
}
