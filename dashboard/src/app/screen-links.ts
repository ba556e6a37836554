import History from 'lucide-react/icons/history';
import LayoutDashboard from 'lucide-react/icons/layout-dashboard';
import Send from 'lucide-react/icons/send';
import ScrollText from 'lucide-react/icons/scroll-text';
import Settings from 'lucide-react/icons/settings';

/** The screens that are not of one collection, in the order of the sidebar. The palette offers them as well. */
export const screenLinks = [
  { to: '/overview', label: 'Overview', icon: LayoutDashboard },
  { to: '/events', label: 'Events', icon: History },
  { to: '/deliveries', label: 'Deliveries', icon: Send },
  { to: '/logs', label: 'Logs', icon: ScrollText },
  { to: '/settings', label: 'Settings', icon: Settings },
] as const;
