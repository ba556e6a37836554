import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import ChevronsUpDown from 'lucide-react/icons/chevrons-up-down';
import LogOut from 'lucide-react/icons/log-out';
import Monitor from 'lucide-react/icons/monitor';
import Moon from 'lucide-react/icons/moon';
import Sun from 'lucide-react/icons/sun';
import { isPortal, signOut } from '../api/session.ts';
import { setDensity, setTheme, useDensity, useTheme } from '../browser/theme.ts';
import { Menu, MenuChoice, MenuItem, MenuLine } from '../parts/menu.tsx';

export const themeChoices = [
  { value: 'auto', label: 'System', icon: Monitor },
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
] as const;

export const densityChoices = [
  { value: 'compact', label: 'Compact' },
  { value: 'regular', label: 'Regular' },
  { value: 'roomy', label: 'Roomy' },
] as const;

interface AccountMenuProps {
  readonly label: string;
  /** Signs out. */
  readonly onLeave: () => void;
}

/** Who is signed in, and how things look to them. */
export function AccountMenu({ label, onLeave }: AccountMenuProps) {
  const theme = useTheme();
  const density = useDensity();
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="account-button">
          <span className="monogram" aria-hidden>
            {label.slice(0, 1)}
          </span>
          <span className="cut">{label}</span>
          <ChevronsUpDown size={13} aria-hidden />
        </button>
      }
    >
      <MenuChoice label="Theme" value={theme} choices={themeChoices} onChange={setTheme} />
      <MenuLine />
      <MenuChoice label="Density" value={density} choices={densityChoices} onChange={setDensity} />
      <MenuLine />
      <MenuItem icon={LogOut} onSelect={onLeave}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

/** Signs out and forgets what was shown: the next one at this machine may be somebody else. */
export function useSignOut(): () => void {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return () => {
    const search = isPortal() ? { expired: 'portal' } : {};
    signOut();
    void navigate({ to: '/login', search }).then(() => queries.clear());
  };
}
