import { useQuery } from '@tanstack/react-query';
import ArrowLeft from 'lucide-react/icons/arrow-left';
import { useEffect } from 'react';
import { isBoundToEndpoints } from '../api/session.ts';
import { publicSettingsQuery } from '../api/settings.ts';
import { setAccent } from '../browser/accent.ts';
import { suggestTheme } from '../browser/theme.ts';
import { Seal } from './seal.tsx';

/** How the settings say that portals look; undefined outside of portals, and until it is known. */
export function usePortalLook(isPortal = isBoundToEndpoints()) {
  const { data } = useQuery({ ...publicSettingsQuery, enabled: isPortal });
  useEffect(() => {
    if (!isPortal) suggestTheme('auto');
    if (!isPortal || data === undefined) return;
    setAccent(data.portal.accentColor || data.accentColor);
    suggestTheme(data.portal.theme);
  }, [isPortal, data]);
  if (!isPortal || data === undefined) return undefined;
  return { ...data.portal, name: data.portal.name || data.appName };
}

/** The logo of a portal, or the mark of Chancery. */
export function Logo({ logo = '' }: { readonly logo?: string | undefined }) {
  return logo === '' ? <Seal /> : <img className="portal-logo" src={logo} alt="" />;
}

/** Leads out of a portal, also out of the frame that it is in. */
export function ReturnLink({ url }: { readonly url: string }) {
  if (url === '') return null;
  return (
    <a className="nav-link" href={url} target="_top" rel="noreferrer">
      <ArrowLeft size={15} aria-hidden />
      Back to {new URL(url).host}
    </a>
  );
}
