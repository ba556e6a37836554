import History from 'lucide-react/icons/history';
import LayoutDashboard from 'lucide-react/icons/layout-dashboard';
import ScrollText from 'lucide-react/icons/scroll-text';
import Send from 'lucide-react/icons/send';
import Settings from 'lucide-react/icons/settings';
import ShieldCheck from 'lucide-react/icons/shield-check';
import Webhook from 'lucide-react/icons/webhook';
import Workflow from 'lucide-react/icons/workflow';

/** The screens that are not of one collection, in the order of the sidebar. The palette offers them as well. */
export const screenLinks = [
  { to: '/overview', label: 'Overview', icon: LayoutDashboard },
  { to: '/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/events', label: 'Events', icon: History },
  { to: '/deliveries', label: 'Deliveries', icon: Send },
  { to: '/diagram', label: 'Diagram', icon: Workflow },
  { to: '/rules', label: 'Rules', icon: ShieldCheck },
  { to: '/logs', label: 'Logs', icon: ScrollText },
  { to: '/settings', label: 'Settings', icon: Settings },
] as const;
