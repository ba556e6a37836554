import { Link, useParams } from '@tanstack/react-router';
import Compass from 'lucide-react/icons/compass';
import { type ComponentType, lazy, Suspense } from 'react';
import { Bar } from '../../parts/bar.tsx';
import { Empty } from '../../parts/empty.tsx';
import { BackupsScreen } from './backups-screen.tsx';
import { InstanceScreen } from './instance-screen.tsx';
import { InstancesScreen } from './instances-screen.tsx';
import { NodesScreen } from './nodes-screen.tsx';
import { OperatorEventsScreen } from './operator-events-screen.tsx';
import { UsageScreen } from './usage-screen.tsx';

// Its parts are those of the settings of instances.
const OperatorAuditScreen = lazy(async () => {
  const { OperatorAuditScreen: Screen } = await import('./operator-audit-screen.tsx');
  return { default: Screen };
});

const screens: Readonly<Record<string, ComponentType>> = {
  instances: InstancesScreen,
  usage: UsageScreen,
  backups: BackupsScreen,
  nodes: NodesScreen,
  events: OperatorEventsScreen,
  audit: OperatorAuditScreen,
};

/** The screen of the operator that the address names. Most are loaded together, as they have most of their parts in common. */
export function OperatorScreen() {
  const { section = '', instance } = useParams({ strict: false });
  // Another instance is another screen: nothing of the one before stays.
  if (instance !== undefined) return <InstanceScreen key={instance} />;
  const Screen = Object.hasOwn(screens, section) ? screens[section] : undefined;
  if (Screen === undefined) return <NoScreen />;
  return (
    <Suspense>
      <Screen key={section} />
    </Suspense>
  );
}

function NoScreen() {
  return (
    <>
      <Bar title="Operator" />
      <Empty
        icon={Compass}
        title="Page not found"
        actions={
          <Link to="/operator/$section" params={{ section: 'instances' }} className="button">
            Go to instances
          </Link>
        }
      >
        Check the address. It may need a newer version.
      </Empty>
    </>
  );
}
